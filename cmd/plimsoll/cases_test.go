package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
)

var casesFolder = flag.String("cases", filepath.Join("testdata", "cases"), "the folder of the cases")

// TestCases plays cases of users, each a file of the folder: what is right and why, and where it was reported; then
// commands, and what they must print or must not; then the files that the commands read. A line of the script is
//
//	$ plimsoll advise -f in.yaml   a command
//	exit 1                         its exit status; 0 without that line
//	+ text                         what it prints has this, whatever the spaces
//	- text                         what it prints does not have this
//
// A file begins with a line "-- in.yaml --".
func TestCases(t *testing.T) {
	folder, err := filepath.Abs(*casesFolder)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases in %s: %v", len(cases), folder, err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			play(t, unpack(t, string(text)))
		})
	}
}

// unpack writes the files of a case, and gives what stands before them.
func unpack(t *testing.T, text string) (script string) {
	t.Helper()
	name, content := "", map[string]string{}
	for line := range strings.Lines(text) {
		if inner, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(inner, " --") {
			name = strings.TrimSuffix(inner, " --")
			continue
		}
		content[name] += line
	}
	for name, text := range content {
		if name == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return content[""]
}

// play runs the commands of a script, and compares.
func play(t *testing.T, script string) {
	t.Helper()
	command, printed, status, want := "", "", 0, 0
	end := func() {
		if command != "" && status != want {
			t.Errorf("%s: exit status %d, want %d; printed:\n%s", command, status, want, printed)
		}
	}
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		operation, rest, _ := strings.Cut(line, " ")
		switch operation {
		case "$":
			end()
			command, want = rest, 0
			printed, status = execute(t, strings.Fields(strings.TrimPrefix(rest, "plimsoll ")))
		case "exit":
			want = int(rest[0] - '0')
		case "+", "-":
			if has := strings.Contains(squeezed(printed), squeezed(rest)); has != (operation == "+") {
				t.Errorf("%s: want %q, printed:\n%s", command, line, printed)
			}
		}
	}
	end()
	if command == "" {
		t.Error("the case has no command")
	}
}

// execute runs the program, and gives all that a person would see of it.
func execute(t *testing.T, args []string) (printed string, status int) {
	t.Helper()
	root := rootCommand()
	var out bytes.Buffer
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(t.Context())
	if err != nil {
		out.WriteString("error: " + err.Error() + "\n")
		status = cmderror.ExitStatus(err)
	}
	return out.String(), status
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }
