package realnode

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockDir makes sure that there is one node with a folder at a time. The lock is beside the folder, and goes with the
// process that holds it, however that ends.
func lockDir(dir string) (*os.File, error) {
	path := dir + ".lock"
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			return nil, errors.Join(fmt.Errorf("another real node is running on this machine (%s is locked): %w", path, err),
				file.Close())
		}
		mine, err := file.Stat()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock: %w", err), file.Close())
		}
		// Between opening and locking its holder may have removed it; then the lock excludes no process.
		if there, err := os.Stat(path); err == nil && os.SameFile(mine, there) {
			return file, nil
		}
		if err := file.Close(); err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
	}
}

func unlockDir(lock *os.File) error {
	if err := errors.Join(os.Remove(lock.Name()), lock.Close()); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}
