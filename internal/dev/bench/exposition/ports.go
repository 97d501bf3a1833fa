package exposition

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePorts finds ports for the pages of processes that are about to start, below those that outgoing connections get,
// so that no client takes one before it is used.
func FreePorts(ctx context.Context, count int) ([]int, error) {
	const first, last, attempts = 20000, 32000, 200
	var ports []int
	var lc net.ListenConfig
	for range attempts {
		port := first + rand.IntN(last-first)
		listener, err := lc.Listen(ctx, "tcp", Loopback(port))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		if ports = append(ports, port); len(ports) == count {
			return ports, nil
		}
	}
	return nil, errors.New("there is no free port")
}

// Loopback is a port's address on this machine.
func Loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
