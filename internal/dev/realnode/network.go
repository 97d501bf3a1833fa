package realnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
)

const (
	networkName = "plimsoll-node"
	bridgeName  = "plimsoll0"
)

// serviceAddress is the API server's among the addresses of Services, to which its certificate is issued: the first of
// the development cluster's range. Nothing serves the others.
const serviceAddress = "10.96.0.1"

// chooseSubnet returns the first candidate that overlaps with nothing of what is taken.
func chooseSubnet(taken []netip.Prefix) (netip.Prefix, error) {
	for third := range 256 {
		candidate := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 213, byte(third), 0}), 24)
		free := true
		for _, prefix := range taken {
			free = free && !prefix.Overlaps(candidate)
		}
		if free {
			return candidate, nil
		}
	}
	return netip.Prefix{}, errors.New("every network of 10.213.0.0/16 is in use on this machine")
}

// takenPrefixes are the networks that this machine is part of or has a route to, the default route excepted.
func takenPrefixes(ctx context.Context) ([]netip.Prefix, error) {
	out, err := output(ctx, "ip", "-4", "-o", "route", "show", "table", "all")
	if err != nil {
		return nil, err
	}
	return parseRoutes(out), nil
}

// parseRoutes reads the destinations in what `ip -4 -o route` prints, which a type may precede.
func parseRoutes(text string) []netip.Prefix {
	var prefixes []netip.Prefix
	for line := range strings.Lines(text) {
		for _, word := range strings.Fields(line)[:min(2, len(strings.Fields(line)))] {
			if prefix, err := netip.ParsePrefix(word); err == nil {
				prefixes = append(prefixes, prefix)
			} else if address, err := netip.ParseAddr(word); err == nil {
				prefixes = append(prefixes, netip.PrefixFrom(address, address.BitLen()))
			}
		}
	}
	return prefixes
}

// gateway is the node's own address.
func gateway(subnet netip.Prefix) netip.Addr { return subnet.Addr().Next() }

// createBridge makes the network of the pods, with the node's address and that of the API server's Service on it.
func createBridge(ctx context.Context, subnet netip.Prefix) error {
	for _, args := range [][]string{
		{"link", "add", "name", bridgeName, "type", "bridge"},
		{"address", "add", fmt.Sprintf("%s/%d", gateway(subnet), subnet.Bits()), "dev", bridgeName},
		{"address", "add", serviceAddress + "/32", "dev", bridgeName},
		{"link", "set", "dev", bridgeName, "up"},
	} {
		if _, err := output(ctx, "ip", args...); err != nil {
			return err
		}
	}
	return nil
}

// removeBridge removes the bridge, if it is there, with what is still attached to it: the pods' ends of the pairs go
// with their network namespaces, and with either end the other.
func removeBridge(ctx context.Context) error {
	if _, err := net.InterfaceByName(bridgeName); err != nil {
		return nil //nolint:nilerr // there is no bridge to remove
	}
	out, err := output(ctx, "ip", "-o", "link", "show", "master", bridgeName)
	if err != nil {
		return err
	}
	for _, name := range attached(out) {
		if _, err := output(ctx, "ip", "link", "delete", "dev", name); err != nil {
			// It has ended meanwhile.
			if _, gone := net.InterfaceByName(name); gone == nil {
				return err
			}
		}
	}
	_, err = output(ctx, "ip", "link", "delete", "dev", bridgeName)
	return err
}

// attached reads the names of interfaces in what `ip -o link` prints: "7: veth1a@if2: <...".
func attached(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if _, rest, found := strings.Cut(line, ": "); found {
			name, _, _ := strings.Cut(rest, ":")
			name, _, _ = strings.Cut(name, "@")
			names = append(names, name)
		}
	}
	return names
}

// output runs a program of this machine and returns what it prints; an error carries what it complains of.
func output(ctx context.Context, program string, args ...string) (string, error) {
	path, err := Find(program)
	if err != nil {
		return "", fmt.Errorf("%s: %w", program, err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(complaints.String()))
	}
	return string(out), nil
}
