package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// HostProgram is a program of this machine with the libraries and the loader that it is linked with, at the paths that
// they have here.
func HostProgram(ctx context.Context, program string) ([]File, error) {
	text, err := exec.CommandContext(ctx, "ldd", program).Output()
	if err != nil {
		return nil, fmt.Errorf("libraries of %s: ldd: %w", program, err)
	}
	libraries, err := libraries(string(text))
	if err != nil {
		return nil, fmt.Errorf("libraries of %s: %w", program, err)
	}
	var files []File
	for _, path := range append([]string{program}, libraries...) {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("files of %s: %w", program, err)
		}
		files = append(files, File{Path: path, Content: content, Mode: 0o755})
	}
	return files, nil
}

// libraries reads the paths in what ldd prints:
//
//	linux-vdso.so.1 (0x00007ffc)
//	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1)
//	/lib64/ld-linux-x86-64.so.2 (0x00007f2)
func libraries(text string) ([]string, error) {
	var paths []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) >= 3 && fields[1] == "=>" {
			if fields[2] == "not" {
				return nil, fmt.Errorf("%s is not found", fields[0])
			}
			fields = fields[2:]
		}
		if len(fields) > 0 && strings.HasPrefix(fields[0], "/") {
			paths = append(paths, fields[0])
		}
	}
	return paths, nil
}
