package main

import (
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
)

// sessions have the memory of connections. It is the kernel's, not the garbage collector's, so that the container's
// working set falls when a connection ends.
type sessions struct {
	bytes int

	mu   sync.Mutex
	held map[net.Conn][]byte // guarded by mu
}

func newSessions(bytes int) *sessions { return &sessions{bytes: bytes, held: map[net.Conn][]byte{}} }

// begin takes the memory of a connection, once.
func (s *sessions) begin(client net.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[client] != nil {
		return nil
	}
	memory, err := syscall.Mmap(-1, 0, s.bytes, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("take %d bytes: %w", s.bytes, err)
	}
	// Pages that are never written cost nothing.
	for i := 0; i < len(memory); i += pageBytes {
		memory[i] = 1
	}
	s.held[client] = memory
	return nil
}

// end gives it back, if there is any.
func (s *sessions) end(client net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	memory := s.held[client]
	if memory == nil {
		return
	}
	delete(s.held, client)
	if err := syscall.Munmap(memory); err != nil {
		fmt.Fprintln(os.Stderr, "memoryserver: give memory back:", err)
	}
}
