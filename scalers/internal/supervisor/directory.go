package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// directoryPrefix begins the names of the directories for sockets and temporary files.
const directoryPrefix = "plimsoll-scalers-"

// Directory makes a directory for the sockets and temporary files of processes, which remove removes. It also removes
// those of earlier programs that were killed: the volume of a container outlives it, and they may have keys.
func Directory(parent string) (path string, remove func() error, err error) {
	earlier, err := filepath.Glob(filepath.Join(parent, directoryPrefix+"*"))
	if err != nil {
		return "", nil, err
	}
	for _, path := range earlier {
		// A program that still runs has the lock.
		if lock, err := lockDirectory(path); err == nil {
			if err := errors.Join(os.RemoveAll(path), lock.Close()); err != nil {
				return "", nil, err
			}
		}
	}
	path, err = os.MkdirTemp(parent, directoryPrefix)
	if err != nil {
		return "", nil, err
	}
	lock, err := lockDirectory(path)
	if err != nil {
		return "", nil, err
	}
	return path, func() error { return errors.Join(os.RemoveAll(path), lock.Close()) }, nil
}

// lockDirectory locks a directory until the file is closed, or the program ends.
func lockDirectory(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
