package reach

import (
	"errors"
	"fmt"
	"net/netip"
)

// Rules determine which pods and servers are connected to. The zero value permits pods, and
// Services of the object's own namespace.
type Rules struct {
	// Servers are the servers that the operator permits (--metric-server).
	Servers []Server
	// PodCIDRs permit pods that are refused otherwise (--pod-endpoint-allowed-cidr): those with loopback, link-local or
	// node addresses, and those in the host's network.
	PodCIDRs []netip.Prefix
	// IsNode reports whether the address belongs to a node; nil if nodes are unknown.
	IsNode func(netip.Addr) bool
}

// ErrRefused is wrapped by all errors of the rules.
var ErrRefused = errors.New("refused")

// block is a range of addresses with the words for it in messages.
type block struct {
	prefix netip.Prefix
	name   string
}

// never are addresses that no pod has. No CIDR permits them.
//
// Metadata services are named one by one where they are not link-local. Ranges that embed an IPv4 address are refused
// as a whole: a gateway on the way would connect to the embedded address.
var never = []block{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address"},
	{netip.MustParsePrefix("::/128"), "an unspecified address"},
	{netip.MustParsePrefix("169.254.169.254/32"), metadata},
	{netip.MustParsePrefix("169.254.170.2/32"), metadata},
	{netip.MustParsePrefix("169.254.170.23/32"), metadata},
	{netip.MustParsePrefix("100.100.100.200/32"), metadata},
	{netip.MustParsePrefix("168.63.129.16/32"), metadata},
	{netip.MustParsePrefix("fd00:ec2::254/128"), metadata},
	{netip.MustParsePrefix("fd00:ec2::23/128"), metadata},
	{netip.MustParsePrefix("fd20:ce::254/128"), metadata},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("255.255.255.255/32"), "the broadcast address"},
	{netip.MustParsePrefix("64:ff9b::/96"), embedding},
	{netip.MustParsePrefix("64:ff9b:1::/48"), embedding},
	{netip.MustParsePrefix("2002::/16"), embedding},
	{netip.MustParsePrefix("2001::/32"), embedding},
}

// unusual are addresses that a pod has only if the operator permits them.
var unusual = []block{
	{netip.MustParsePrefix("127.0.0.0/8"), loopback},
	{netip.MustParsePrefix("::1/128"), loopback},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("fec0::/10"), "a site-local address"},
	// The rest without ::/128 and ::1/128: IPv4-compatible addresses.
	{netip.MustParsePrefix("::/96"), embedding},
}

const (
	metadata  = "the address of a metadata service"
	loopback  = "a loopback address"
	embedding = "an address that embeds an IPv4 address"
)

// CheckPod returns an error if a pod with this address must not be connected to. It unmaps IPv4-mapped IPv6 addresses
// first.
func (r *Rules) CheckPod(address netip.Addr, isHostNetwork bool) error {
	if err := checkForm(address); err != nil {
		return err
	}
	address = address.Unmap()
	if name := nameOf(never, address); name != "" {
		return fmt.Errorf("%w: %s is %s", ErrRefused, address, name)
	}
	for _, permitted := range r.PodCIDRs {
		if permitted.Contains(address) {
			return nil
		}
	}
	reason := ""
	switch name := nameOf(unusual, address); {
	case name != "":
		reason = fmt.Sprintf("%s is %s", address, name)
	case isHostNetwork:
		reason = "the pod is in the network of its node"
	case r.IsNode != nil && r.IsNode(address):
		reason = fmt.Sprintf("%s is the address of a node", address)
	default:
		return nil
	}
	return fmt.Errorf("%w: %s (--pod-endpoint-allowed-cidr permits more)", ErrRefused, reason)
}

// checkResolved returns an error if an address from DNS for a permitted name must not be connected to. An operator who
// names a server trusts its DNS, but no server of metrics is at these addresses. A literal address in --metric-server
// permits link-local ones.
func checkResolved(address netip.Addr) error {
	if err := checkForm(address); err != nil {
		return err
	}
	address = address.Unmap()
	name := nameOf(never, address)
	if name == embedding {
		// Where nodes have only IPv6, DNS has such addresses for servers with IPv4. The operator permitted the name, and the
		// IPv4 address must be permitted as well.
		return checkEmbedded(address)
	}
	if name == "" {
		name = nameOf(unusual, address)
	}
	if name == loopback {
		return nil
	}
	if name != "" {
		return fmt.Errorf("%w: DNS has %s for it, %s", ErrRefused, address, name)
	}
	return nil
}

// nat64 is the prefix of RFC 6052, whose last four bytes are an IPv4 address.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// checkEmbedded permits an address of NAT64 whose IPv4 address is permitted.
func checkEmbedded(address netip.Addr) error {
	if !nat64.Contains(address) {
		return fmt.Errorf("%w: DNS has %s for it, %s", ErrRefused, address, embedding)
	}
	bytes := address.As16()
	embedded := netip.AddrFrom4([4]byte(bytes[12:]))
	if embedded.IsLoopback() {
		return fmt.Errorf("%w: DNS has %s for it, which embeds a loopback address", ErrRefused, address)
	}
	return checkResolved(embedded)
}

// checkForm refuses all but plain addresses. A zone selects an interface of the machine.
func checkForm(address netip.Addr) error {
	switch {
	case !address.IsValid():
		return fmt.Errorf("%w: it has no address", ErrRefused)
	case address.Zone() != "":
		return fmt.Errorf("%w: an address with a zone", ErrRefused)
	}
	return nil
}

// nameOf returns the name of the first block with the address; empty without one.
func nameOf(blocks []block, address netip.Addr) string {
	for _, b := range blocks {
		if b.prefix.Contains(address) {
			return b.name
		}
	}
	return ""
}
