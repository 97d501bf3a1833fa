// Package archive packs files so that the same files give the same bytes: sorted, owned by root, all of one time.
package archive

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"
)

// File is a file of an archive.
type File struct {
	// Name is a path with slashes, relative to where the archive is unpacked.
	Name    string
	Content []byte
	// Mode is the permissions.
	Mode fs.FileMode
}

// TarGz writes the files as a tar archive that gzip has compressed.
func TarGz(w io.Writer, files []File, at time.Time) error {
	files, err := sorted(files)
	if err != nil {
		return err
	}
	// The header's time, name and system stay empty.
	compressed := gzip.NewWriter(w)
	out := tar.NewWriter(compressed)
	for _, file := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: file.Name, Size: int64(len(file.Content)), Mode: int64(file.Mode.Perm()),
			ModTime: at.UTC().Truncate(time.Second), Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}
		if err := out.WriteHeader(header); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		if _, err := out.Write(file.Content); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	if err := errors.Join(out.Close(), compressed.Close()); err != nil {
		return fmt.Errorf("end of the archive: %w", err)
	}
	return nil
}

// Zip writes the files as a zip archive.
func Zip(w io.Writer, files []File, at time.Time) error {
	files, err := sorted(files)
	if err != nil {
		return err
	}
	out := zip.NewWriter(w)
	for _, file := range files {
		header := &zip.FileHeader{Name: file.Name, Method: zip.Deflate, Modified: at.UTC().Truncate(time.Second)}
		header.SetMode(file.Mode.Perm())
		one, err := out.CreateHeader(header)
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		if _, err := one.Write(file.Content); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("end of the archive: %w", err)
	}
	return nil
}

// sorted is the files in the order of their names, of which none may leave the folder or come twice.
func sorted(files []File) ([]File, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	for i, file := range files {
		switch {
		case !fs.ValidPath(file.Name) || path.Clean(file.Name) == ".":
			return nil, fmt.Errorf("%q is not the name of a file below a folder", file.Name)
		case i > 0 && files[i-1].Name == file.Name:
			return nil, fmt.Errorf("%s is there twice", file.Name)
		}
	}
	return files, nil
}
