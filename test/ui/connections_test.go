//go:build ui

package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
)

// checkConnections reads Chromium's log of its network, when Chromium has ended: every connection, of all tabs and of
// the browser itself, leads to this machine, and nothing was sent by UDP.
func checkConnections(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("chromium's log of its network: %w", err)
	}
	// One event is on each line, after the constants. The last one may be cut off.
	lines := bytes.Split(text, []byte("\n"))
	var head struct {
		Constants struct {
			LogEventTypes map[string]int `json:"logEventTypes"`
		} `json:"constants"`
	}
	if err := json.Unmarshal(append(bytes.TrimRight(bytes.TrimSpace(lines[0]), ","), '}'), &head); err != nil {
		return fmt.Errorf("chromium's log of its network: %w", err)
	}
	types := head.Constants.LogEventTypes
	connect, sent := types["TCP_CONNECT_ATTEMPT"], types["UDP_BYTES_SENT"]
	if connect == 0 || sent == 0 {
		return errors.New("chromium's log of its network has other names than expected")
	}
	connections := 0
	for _, line := range lines[1:] {
		var event struct {
			Type   int `json:"type"`
			Params struct {
				Address string `json:"address"`
			} `json:"params"`
		}
		if err := json.Unmarshal(bytes.TrimRight(bytes.TrimSpace(line), ","), &event); err != nil {
			continue
		}
		if event.Type == sent {
			return fmt.Errorf("chromium has sent something by UDP: %s", line)
		}
		if event.Type != connect || event.Params.Address == "" {
			continue
		}
		to, err := netip.ParseAddrPort(event.Params.Address)
		if err != nil || !to.Addr().IsLoopback() {
			return fmt.Errorf("chromium has connected to %s", event.Params.Address)
		}
		connections++
	}
	if connections == 0 {
		return errors.New("chromium's log of its network has no connection")
	}
	fmt.Printf("chromium: %d connections, all to this machine\n", connections)
	return nil
}
