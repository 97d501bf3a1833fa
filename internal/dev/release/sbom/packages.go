package sbom

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/package-url/packageurl-go"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"golang.org/x/mod/module"
)

// standardLibrary is the scanners' name of Go's own packages.
const standardLibrary = "stdlib"

func artifactPackage(a *Artifact, version string) *spdx.Package {
	p := ours("Archive-"+a.Name, a.Name, version)
	p.PackageFileName, p.PackageDownloadLocation = a.Name, a.URL
	p.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: a.SHA256}}
	p.PrimaryPackagePurpose = "ARCHIVE"
	return p
}

func imagePackage(image *Image, version string) (*spdx.Package, error) {
	algorithm, digest, isValid := strings.Cut(image.Digest, ":")
	if !isValid || algorithm != "sha256" {
		return nil, fmt.Errorf("the image has the digest %q", image.Digest)
	}
	p := ours("Image", image.Name, version)
	p.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: digest}}
	p.PrimaryPackagePurpose = "CONTAINER"
	locator, err := purl(packageurl.NewPackageURL(packageurl.TypeOCI, "", path.Base(image.Name), image.Digest,
		packageurl.Qualifiers{{Key: "repository_url", Value: image.Name}, {Key: "tag", Value: version}}, ""))
	p.PackageExternalReferences = locator
	return p, err
}

func programPackage(program *Program, version string) (*spdx.Package, error) {
	system, architecture, _ := strings.Cut(program.Platform, "/")
	p := ours("Program-"+system+"-"+architecture, "plimsoll", version)
	p.PackageFileName = "plimsoll"
	p.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: program.SHA256}}
	p.PrimaryPackagePurpose = "APPLICATION"
	p.PackageComment = "for " + program.Platform
	namespace, name := path.Split(program.Build.Main.Path)
	locator, err := purl(packageurl.NewPackageURL(packageurl.TypeGolang, strings.TrimSuffix(namespace, "/"), name, version,
		packageurl.Qualifiers{{Key: "goarch", Value: architecture}, {Key: "goos", Value: system}}, ""))
	p.PackageExternalReferences = locator
	return p, err
}

// ours is a package of the project itself.
func ours(id, name, version string) *spdx.Package {
	return &spdx.Package{
		PackageName: name, PackageSPDXIdentifier: identifier(id), PackageVersion: version,
		PackageSupplier:         &common.Supplier{SupplierType: "Organization", Supplier: "plimsoll-dev"},
		PackageDownloadLocation: noAssertion, IsFilesAnalyzedTagPresent: true,
		PackageHomePage: project, PackageLicenseConcluded: noAssertion, PackageLicenseDeclared: "Apache-2.0",
		PackageCopyrightText: noAssertion,
	}
}

// modulePackage is a linked module, or the standard library. Its licence is not asserted: the texts of all licences are
// beside the programs.
func modulePackage(m *debug.Module) (*spdx.Package, error) {
	hash := sha256.Sum256([]byte(m.Path + "@" + m.Version))
	p := &spdx.Package{
		PackageName: m.Path, PackageVersion: m.Version,
		// The characters of an identifier are few: the hash keeps two modules apart.
		PackageSPDXIdentifier:     identifier("Module-" + m.Path + "-" + m.Version + "-" + hex.EncodeToString(hash[:4])),
		PackageSupplier:           &common.Supplier{Supplier: noAssertion},
		IsFilesAnalyzedTagPresent: true, PackageLicenseConcluded: noAssertion, PackageLicenseDeclared: noAssertion,
		PackageCopyrightText: noAssertion, PrimaryPackagePurpose: "LIBRARY",
	}
	version := m.Version
	if m.Path == standardLibrary {
		version = strings.TrimPrefix(version, "go")
		p.PackageVersion, p.PackageDownloadLocation = version, "https://go.dev/dl/go"+version+".src.tar.gz"
	} else {
		location, err := zipOf(m)
		if err != nil {
			return nil, err
		}
		p.PackageDownloadLocation = location
		p.PackageSourceInfo = "go.sum: " + m.Sum
	}
	namespace, name := path.Split(m.Path)
	locator, err := purl(packageurl.NewPackageURL(packageurl.TypeGolang, strings.TrimSuffix(namespace, "/"), name, version,
		nil, ""))
	p.PackageExternalReferences = locator
	return p, err
}

// zipOf is the address of the module's sources.
func zipOf(m *debug.Module) (string, error) {
	escapedPath, err := module.EscapePath(m.Path)
	if err != nil {
		return "", fmt.Errorf("path: %w", err)
	}
	escapedVersion, err := module.EscapeVersion(m.Version)
	if err != nil {
		return "", fmt.Errorf("version: %w", err)
	}
	return "https://proxy.golang.org/" + escapedPath + "/@v/" + escapedVersion + ".zip", nil
}

func purl(of *packageurl.PackageURL) ([]*spdx.PackageExternalReference, error) {
	if err := of.Normalize(); err != nil {
		return nil, fmt.Errorf("package URL: %w", err)
	}
	return []*spdx.PackageExternalReference{{
		Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: of.ToString(),
	}}, nil
}

var notInIdentifier = regexp.MustCompile(`[^A-Za-z0-9.-]`)

func identifier(text string) common.ElementID {
	return common.ElementID(notInIdentifier.ReplaceAllString(text, "-"))
}
