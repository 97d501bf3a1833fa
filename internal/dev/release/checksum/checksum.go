// Package checksum writes and checks lists of SHA-256 sums in the form of sha256sum.
package checksum

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// OfFile is the SHA-256 sum of a file, in 64 hexadecimal digits.
func OfFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// List has a line for each of the files of the folder, in the order of their names.
func List(dir string, names []string) (string, error) {
	var lines strings.Builder
	for _, name := range slices.Sorted(slices.Values(names)) {
		sum, err := OfFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, name)
	}
	return lines.String(), nil
}

// Verify compares the files of a folder with a list. Each file but the list's own must be in it.
func Verify(dir, list string) error {
	text, err := os.ReadFile(filepath.Join(dir, list))
	if err != nil {
		return err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, isValid := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !isValid || len(sum) != hex.EncodedLen(sha256.Size) || sums[name] != "" {
			return fmt.Errorf("%s has the line %q", list, line)
		}
		sums[name] = sum
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var wrong []error
	for _, entry := range entries {
		if entry.Name() == list {
			continue
		}
		sum, err := OfFile(filepath.Join(dir, entry.Name()))
		if err == nil && sum != sums[entry.Name()] {
			err = fmt.Errorf("%s has the sum %s, and in %s %q", entry.Name(), sum, list, sums[entry.Name()])
		}
		wrong = append(wrong, err)
		delete(sums, entry.Name())
	}
	for name := range sums {
		wrong = append(wrong, fmt.Errorf("%s is in %s, and not in the folder", name, list))
	}
	return errors.Join(wrong...)
}
