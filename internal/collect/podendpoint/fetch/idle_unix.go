//go:build unix

package fetch

import (
	"net"
	"syscall"
)

// isQuiet reports whether an idle connection has neither received bytes nor been closed. Bytes that arrive then belong
// to no request.
func isQuiet(conn net.Conn) bool {
	own, hasFile := conn.(syscall.Conn)
	if !hasFile {
		return true
	}
	raw, err := own.SyscallConn()
	if err != nil {
		return false
	}
	isQuiet := false
	var one [1]byte
	err = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
		isQuiet = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR
		return true
	})
	return err == nil && isQuiet
}
