// Package krew writes the manifest with which krew, kubectl's plugin manager, installs kubectl-plimsoll.
package krew

import (
	"errors"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"
)

// Name is the plugin's: kubectl runs kubectl-NAME.
const Name = "plimsoll"

// Archive is the archive for one platform. It is unpacked unchanged.
type Archive struct {
	// OS and Architecture are Go's names, which are krew's too.
	OS, Architecture string
	// URL is its download address.
	URL string
	// SHA256 is its sum, in 64 hexadecimal digits.
	SHA256 string
	// Program is the path of the program in it.
	Program string
}

// The manifest's form, as krew's documentation has it:
// https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
type (
	manifest struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Metadata   metadata `json:"metadata"`
		Spec       spec     `json:"spec"`
	}
	metadata struct {
		Name string `json:"name"`
	}
	spec struct {
		Version          string     `json:"version"`
		Homepage         string     `json:"homepage"`
		ShortDescription string     `json:"shortDescription"`
		Description      string     `json:"description"`
		Platforms        []platform `json:"platforms"`
	}
	platform struct {
		Selector selector `json:"selector"`
		URI      string   `json:"uri"`
		SHA256   string   `json:"sha256"`
		Bin      string   `json:"bin"`
	}
	selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	}
)

const description = `Shows why HorizontalPodAutoscalers, WorkloadAutoscalers and
VerticalPodAutoscalers decided as they did, checks manifests for known
mistakes, tries settings on a recorded load, replaces HPAs by
WorkloadAutoscalers, and examines a cluster before and after an
installation of Plimsoll. explain, advise and doctor need no installation
and write nothing.
`

// Manifest is the manifest of a version, which begins with v.
func Manifest(version string, archives []Archive) ([]byte, error) {
	m := manifest{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: metadata{Name: Name},
		Spec: spec{
			Version: version, Homepage: "https://github.com/plimsoll-dev/plimsoll",
			ShortDescription: "Explain, check and simulate autoscaling", Description: description,
		},
	}
	if len(archives) == 0 {
		return nil, errors.New("krew manifest: no archives")
	}
	seen := map[string]bool{}
	for i := range archives {
		a := &archives[i]
		if err := a.check(); err != nil {
			return nil, fmt.Errorf("krew manifest: %s/%s: %w", a.OS, a.Architecture, err)
		}
		key := a.OS + "/" + a.Architecture
		if seen[key] {
			return nil, fmt.Errorf("krew manifest: %s is there twice", key)
		}
		seen[key] = true
		m.Spec.Platforms = append(m.Spec.Platforms, platform{
			Selector: selector{MatchLabels: map[string]string{"os": a.OS, "arch": a.Architecture}},
			URI:      a.URL, SHA256: a.SHA256, Bin: a.Program,
		})
	}
	text, err := yaml.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("krew manifest: %w", err)
	}
	return text, nil
}

var validSum = regexp.MustCompile(`^[a-f0-9]{64}$`)

func (a *Archive) check() error {
	switch {
	case a.OS == "" || a.Architecture == "":
		return errors.New("no platform")
	case a.URL == "":
		return errors.New("no URL")
	case a.Program == "":
		return errors.New("no program")
	case !validSum.MatchString(a.SHA256):
		return fmt.Errorf("%q is no SHA-256 sum", a.SHA256)
	}
	return nil
}
