package nodeagents

import (
	"net/netip"

	"github.com/plimsoll-dev/plimsoll/internal/collect/reach"
)

// addresses are those that agents can have: as pods, and on this machine, where clusters of tests have them.
var addresses = reach.Rules{PodCIDRs: []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
}}

// CanBeAt reports whether an agent can have this address. A writer of the status of an agent's pod must not be able to
// redirect requests to any other place.
func CanBeAt(ip string) bool {
	address, err := netip.ParseAddr(ip)
	return err == nil && addresses.CheckPod(address, false) == nil
}
