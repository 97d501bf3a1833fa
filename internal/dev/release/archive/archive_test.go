package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	at    = time.Date(2026, 11, 25, 12, 0, 1, 0, time.UTC)
	files = []File{
		{Name: "plimsoll", Content: []byte("code"), Mode: 0o755},
		{Name: "LICENSE", Content: []byte("free"), Mode: 0o644},
		{Name: "docs/licences.md", Content: []byte("# Licences"), Mode: 0o644},
	}
	want = []File{files[1], files[2], files[0]}
)

type pack func(io.Writer, []File, time.Time) error

var formats = map[string]struct {
	pack   pack
	unpack func(*testing.T, []byte) []File
}{
	"tar.gz": {TarGz, unpackTarGz},
	"zip":    {Zip, unpackZip},
}

func packed(t *testing.T, pack pack, files []File, at time.Time) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := pack(&out, files, at); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReadsBack(t *testing.T) {
	for name, format := range formats {
		if diff := cmp.Diff(want, format.unpack(t, packed(t, format.pack, files, at))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The order of the files, the time zone and the fraction of a second make no difference.
func TestSameFilesSameBytes(t *testing.T) {
	for name, format := range formats {
		first := packed(t, format.pack, files, at)
		elsewhere := at.Add(time.Millisecond).In(time.FixedZone("", 3600))
		if !bytes.Equal(first, packed(t, format.pack, []File{files[2], files[0], files[1]}, elsewhere)) {
			t.Errorf("%s: two archives of the same files differ", name)
		}
		if bytes.Equal(first, packed(t, format.pack, files, at.Add(time.Minute))) {
			t.Errorf("%s does not have the time", name)
		}
	}
}

func TestRefuses(t *testing.T) {
	cases := map[string]struct {
		files []File
		want  string
	}{
		"a path upwards":    {[]File{{Name: "../x"}}, "not the name of a file"},
		"an absolute path":  {[]File{{Name: "/x"}}, "not the name of a file"},
		"the folder itself": {[]File{{Name: "."}}, "not the name of a file"},
		"a name twice":      {[]File{{Name: "x"}, {Name: "y"}, {Name: "x"}}, "x is there twice"},
	}
	for name, tc := range cases {
		for of, format := range formats {
			if err := format.pack(io.Discard, tc.files, at); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s, %s: error %v", of, name, err)
			}
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestReportsErrors(t *testing.T) {
	for name, format := range formats {
		if err := format.pack(broken{}, files, at); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func unpackTarGz(t *testing.T, content []byte) []File {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if !compressed.ModTime.IsZero() || compressed.Name != "" {
		t.Errorf("gzip's header %+v", compressed.Header)
	}
	var found []File
	for r := tar.NewReader(compressed); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.Uname != "root" || !header.ModTime.Equal(at) {
			t.Errorf("%+v", header)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, File{Name: header.Name, Content: content, Mode: header.FileInfo().Mode()})
	}
}

func unpackZip(t *testing.T, content []byte) []File {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	var found []File
	for _, file := range r.File {
		if !file.Modified.Equal(at) {
			t.Errorf("%s has the time %s", file.Name, file.Modified)
		}
		one, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(one)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, File{Name: file.Name, Content: content, Mode: file.Mode()})
	}
	return found
}
