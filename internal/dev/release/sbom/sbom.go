// Package sbom writes what a release is made of, its software bill of materials, as an SPDX 2.3 document in JSON. What
// is linked into a program is in the program's own build info.
package sbom

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdxlib"
)

// Release is the release to describe.
type Release struct {
	// Version begins with v. Commit is the sources', Created its time.
	Version, Commit string
	Created         time.Time
	// Programs are the programs, one for each platform.
	Programs []Program
	// Artifacts are the files that hold them.
	Artifacts []Artifact
	// Image has some of them too; without a name there is none.
	Image Image
}

// Program is one executable.
type Program struct {
	// Platform is such as linux/amd64.
	Platform string
	// SHA256 is the program's sum, in 64 hexadecimal digits.
	SHA256 string
	// Build is the go command's record in it.
	Build *debug.BuildInfo
}

// Artifact is a file that can be downloaded.
type Artifact struct {
	Name, URL, SHA256 string
	// Platform is that of the program in it.
	Platform string
}

// Image is the container image.
type Image struct {
	// Name has no tag. Digest is that of the index, with its algorithm.
	Name, Digest string
	// Platforms are those of the programs in it.
	Platforms []string
}

const (
	project     = "https://github.com/plimsoll-dev/plimsoll"
	noAssertion = "NOASSERTION"
)

// Document is the bill as JSON. It is checked before it is returned.
func Document(release *Release) ([]byte, error) {
	d := &document{release: release, modules: map[string]common.ElementID{}}
	if err := d.fill(); err != nil {
		return nil, fmt.Errorf("bill of materials: %w", err)
	}
	var out bytes.Buffer
	if err := spdxjson.Write(&d.spdx, &out, spdxjson.Indent("  "), spdxjson.EscapeHTML(false)); err != nil {
		return nil, fmt.Errorf("bill of materials: %w", err)
	}
	if err := Check(out.Bytes()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// document is a bill while it is made.
type document struct {
	release *Release
	spdx    spdx.Document
	// modules have the element of each module that is linked into any of the programs.
	modules map[string]common.ElementID
}

func (d *document) fill() error {
	r := d.release
	d.spdx = spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: "plimsoll-" + r.Version,
		// A document's own, so that two of one version from different sources are two.
		DocumentNamespace: project + "/spdx/" + r.Version + "-" + r.Commit,
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{
				{CreatorType: "Organization", Creator: "plimsoll-dev"},
				{CreatorType: "Tool", Creator: "plimsoll-release-" + r.Version},
			},
			Created: r.Created.UTC().Format(time.RFC3339),
		},
	}
	programs := map[string]common.ElementID{}
	for i := range r.Programs {
		p := &r.Programs[i]
		if programs[p.Platform] != "" {
			return fmt.Errorf("two programs for %s", p.Platform)
		}
		id, err := d.program(p)
		if err != nil {
			return fmt.Errorf("the program for %s: %w", p.Platform, err)
		}
		programs[p.Platform] = id
	}
	for i := range r.Artifacts {
		a := &r.Artifacts[i]
		if err := d.describe(artifactPackage(a, r.Version), programs, a.Platform); err != nil {
			return err
		}
	}
	if r.Image.Name == "" {
		return nil
	}
	p, err := imagePackage(&r.Image, r.Version)
	if err != nil {
		return err
	}
	return d.describe(p, programs, r.Image.Platforms...)
}

// program adds a program and the modules that are linked into it.
func (d *document) program(p *Program) (common.ElementID, error) {
	if p.Build == nil {
		return "", errors.New("no build info")
	}
	one, err := programPackage(p, d.release.Version)
	if err != nil {
		return "", err
	}
	d.spdx.Packages = append(d.spdx.Packages, one)
	id := one.PackageSPDXIdentifier
	modules := append([]*debug.Module{{Path: standardLibrary, Version: p.Build.GoVersion}}, p.Build.Deps...)
	for _, linked := range modules {
		if linked.Replace != nil {
			linked = linked.Replace
		}
		element, err := d.module(linked)
		if err != nil {
			return "", fmt.Errorf("%s: %w", linked.Path, err)
		}
		d.relate(id, element, common.TypeRelationshipDependsOn)
	}
	return id, nil
}

// module is the element of a module, which is added the first time.
func (d *document) module(m *debug.Module) (common.ElementID, error) {
	key := m.Path + "@" + m.Version
	if id := d.modules[key]; id != "" {
		return id, nil
	}
	one, err := modulePackage(m)
	if err != nil {
		return "", err
	}
	d.spdx.Packages = append(d.spdx.Packages, one)
	d.modules[key] = one.PackageSPDXIdentifier
	return one.PackageSPDXIdentifier, nil
}

// describe adds a package that the document is about, and which programs it contains.
func (d *document) describe(p *spdx.Package, programs map[string]common.ElementID, platforms ...string) error {
	d.spdx.Packages = append(d.spdx.Packages, p)
	d.relate("DOCUMENT", p.PackageSPDXIdentifier, common.TypeRelationshipDescribe)
	for _, platform := range platforms {
		id := programs[platform]
		if id == "" {
			return fmt.Errorf("%s: no program for %s", p.PackageName, platform)
		}
		d.relate(p.PackageSPDXIdentifier, id, common.TypeRelationshipContains)
	}
	return nil
}

func (d *document) relate(from, to common.ElementID, how string) {
	d.spdx.Relationships = append(d.spdx.Relationships, &spdx.Relationship{
		RefA: common.DocElementID{ElementRefID: from}, RefB: common.DocElementID{ElementRefID: to}, Relationship: how,
	})
}

var validID = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)

// Check reads a document and finds what is wrong with it: what the SPDX library finds, and identifiers that are not
// valid or not unique.
func Check(text []byte) error {
	read, err := spdxjson.Read(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("bill of materials: %w", err)
	}
	if err := spdxlib.ValidateDocument(read); err != nil {
		return fmt.Errorf("bill of materials: %w", err)
	}
	described, err := spdxlib.GetDescribedPackageIDs(read)
	if err != nil || len(described) == 0 {
		return fmt.Errorf("bill of materials: it describes %d packages: %w", len(described), err)
	}
	seen := map[common.ElementID]bool{"DOCUMENT": true}
	for _, p := range read.Packages {
		id := p.PackageSPDXIdentifier
		switch {
		case seen[id] || !validID.MatchString(string(id)):
			return fmt.Errorf("bill of materials: the identifier %q is not valid, or there twice", id)
		case p.PackageName == "" || p.PackageDownloadLocation == "":
			return fmt.Errorf("bill of materials: %s has no name or no download location", id)
		case p.PackageVersion == "":
			return fmt.Errorf("bill of materials: %s has no version", id)
		}
		seen[id] = true
	}
	return nil
}
