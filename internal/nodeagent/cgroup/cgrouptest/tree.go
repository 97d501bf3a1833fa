// Package cgrouptest writes trees of cgroups into folders, for tests and benchmarks.
package cgrouptest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Write writes the files of a text into a folder: each begins with a line "-- PATH --". Any text before the first is a
// comment.
func Write(directory, text string) error {
	sections := strings.Split("\n"+text, "\n-- ")
	for _, section := range sections[1:] {
		name, content, found := strings.Cut(section, " --\n")
		if !found {
			return fmt.Errorf("a file begins with -- PATH --, not with %q", name)
		}
		if content != "" && !strings.HasSuffix(content, "\n") {
			content += "\n"
		}
		if err := WriteFile(filepath.Join(directory, name), content); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile writes a file, and its parent folders.
func WriteFile(name, content string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(content), 0o600)
}

// Pod returns the UID of a pod of Fill.
func Pod(i int) string { return fmt.Sprintf("%08x-6a0e-4f0b-9d4e-0c8c1f6f2a11", i) }

// ID returns that of a container of Fill.
func ID(pod, container int) string { return fmt.Sprintf("%032x%032x", pod+1, container+1) }

// Fill writes a tree of version 2 with pods of some containers each, as the kubelet with systemd and containerd makes
// them. The text has one container, whose files all of them get.
func Fill(directory, text string, pods, containers int) error {
	files := map[string]string{}
	for _, section := range strings.Split(text, "\n-- ")[1:] {
		name, content, _ := strings.Cut(section, " --\n")
		if base := filepath.Base(name); files[base] == "" {
			files[base] = content + "\n"
		}
	}
	if err := WriteFile(filepath.Join(directory, "cgroup.controllers"), files["cgroup.controllers"]); err != nil {
		return err
	}
	delete(files, "cgroup.controllers")
	for pod := range pods {
		slice := filepath.Join(directory, "kubepods.slice", "kubepods-burstable.slice",
			"kubepods-burstable-pod"+strings.ReplaceAll(Pod(pod), "-", "_")+".slice")
		for container := range containers {
			if err := writeAll(filepath.Join(slice, "cri-containerd-"+ID(pod, container)+".scope"), files); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeAll(directory string, files map[string]string) error {
	for name, content := range files {
		if err := WriteFile(filepath.Join(directory, name), content); err != nil {
			return err
		}
	}
	return nil
}
