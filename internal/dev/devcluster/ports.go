package devcluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below Linux's range for outgoing connections (32768 and up), so that no client of anything on
// this machine gets one between choice and use. Another server still may: parts are then started again on another.
const (
	firstPort = 20000
	lastPort  = 32000
)

// portAttempts is the number of starts of a part whose port was taken.
const portAttempts = 5

// FreePorts returns ports of 127.0.0.1 on which no process listens.
func FreePorts(count int) ([]int, error) {
	ports := make([]int, count)
	for i := range ports {
		var err error
		if ports[i], err = freePort(); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// freePort returns a port of 127.0.0.1 on which no process listens.
func freePort() (int, error) {
	var last error
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp", Loopback(port))
		if err != nil {
			last = err
			continue
		}
		if err := listener.Close(); err != nil {
			last = err
			continue
		}
		return port, nil
	}
	return 0, fmt.Errorf("no free port between %d and %d: %w", firstPort, lastPort, last)
}

// Loopback is a port's address on this machine.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// onFreePorts calls start with free ports, and again with others while start fails because one was taken.
func onFreePorts(count int, start func(ports []int) error) error {
	var err error
	for range portAttempts {
		var ports []int
		if ports, err = FreePorts(count); err != nil {
			return err
		}
		if err = start(ports); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}
