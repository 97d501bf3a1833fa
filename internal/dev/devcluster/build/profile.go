package build

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Profile splits a build's processor time.
type Profile struct {
	// Packages were compiled, Programs linked; what was in the cache is in neither.
	Packages, Programs int
	// Compile and Link are the processor time of compilers and linkers.
	Compile, Link time.Duration
	// ByModule is the compilers' processor time by module; the standard library is "std".
	ByModule map[string]time.Duration
}

// action has the used fields of a node of the go command's action graph.
type action struct {
	Mode    string
	Package string
	CmdUser time.Duration
	CmdSys  time.Duration
}

func readProfile(path string) (Profile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Profile{}, fmt.Errorf("build profile: %w", err)
	}
	var actions []action
	if err := json.Unmarshal(text, &actions); err != nil {
		return Profile{}, fmt.Errorf("build profile: %w", err)
	}
	p := Profile{ByModule: map[string]time.Duration{}}
	for _, a := range actions {
		took := a.CmdUser + a.CmdSys
		if took == 0 {
			continue // from the cache
		}
		switch a.Mode {
		case "build":
			p.Packages++
			p.Compile += took
			p.ByModule[moduleOf(a.Package)] += took
		case "link":
			p.Programs++
			p.Link += took
		}
	}
	return p, nil
}

// moduleOf names the module of a package well enough for a summary.
func moduleOf(importPath string) string {
	elements := strings.Split(importPath, "/")
	if !strings.Contains(elements[0], ".") {
		return "std"
	}
	depth := 3
	if strings.HasSuffix(elements[0], "k8s.io") {
		depth = 2
	}
	return strings.Join(elements[:min(depth, len(elements))], "/")
}

func (p *Profile) add(other Profile) {
	p.Packages += other.Packages
	p.Programs += other.Programs
	p.Compile += other.Compile
	p.Link += other.Link
	if p.ByModule == nil {
		p.ByModule = map[string]time.Duration{}
	}
	for name, took := range other.ByModule {
		p.ByModule[name] += took
	}
}

// String names the dominant parts.
func (p Profile) String() string {
	total := p.Compile + p.Link
	if total == 0 {
		return "nothing compiled"
	}
	type share struct {
		name string
		took time.Duration
	}
	shares := []share{{"linking", p.Link}}
	for name, took := range p.ByModule {
		shares = append(shares, share{name, took})
	}
	slices.SortFunc(shares, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.name, b.name))
	})
	var parts []string
	for _, s := range shares[:min(5, len(shares))] {
		parts = append(parts, fmt.Sprintf("%s %d %%", s.name, 100*s.took/total))
	}
	return fmt.Sprintf("packages compiled: %d, programs linked: %d, processor time: %s (%s)",
		p.Packages, p.Programs, total.Round(time.Second), strings.Join(parts, ", "))
}

// String names the built programs and the time.
func (r Result) String() string {
	if len(r.Built) == 0 {
		return "all parts are up to date in " + r.BinDir
	}
	return fmt.Sprintf("built %s in %s (and %s for listing and downloading modules)\n%s", strings.Join(r.Built, ", "),
		r.Compile.Round(100*time.Millisecond), r.Download.Round(100*time.Millisecond), r.Profile)
}
