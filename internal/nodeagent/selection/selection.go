// Package selection is the format of requests of the controller to the agents of nodes: the containers of a node to
// sample, with the names for their samples.
//
// A selection is a text of a line for each container: the UID of its pod, its ID, its namespace, its pod and its name,
// with spaces between. It is sent once; later requests send its [Key] instead.
package selection

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// The bounds of a selection. A node with 500 pods of four containers has 2000.
const (
	MaxContainers = 4096
	MaxBytes      = 1 << 20
	maxLineBytes  = 1 << 10
	// The longest name of a pod, and of a namespace and a container.
	maxPodBytes   = 253
	maxLabelBytes = 63
)

// The paths of an agent, and the parameter that has a selection's key.
const (
	// UsagePath serves the families of a kubelet's /metrics/resource, ContentionPath those families of its
	// /metrics/cadvisor with CPU throttling and pressure.
	UsagePath      = "/metrics/resource"
	ContentionPath = "/metrics/cadvisor"
	Parameter      = "selection"
	// TokenPath has the token by which the agent proves its node, and CertificatePath takes the certificate that it gets
	// for that.
	TokenPath       = "/token"
	CertificatePath = "/certificate"
)

// Audience is that of the agents' tokens. They are valid for nothing else.
const Audience = "node-agent.plimsoll.dev"

// Container is a container to sample.
type Container struct {
	// PodUID and ID identify its cgroup.
	PodUID, ID string
	// Namespace, Pod and Name are the names in its samples.
	Namespace, Pod, Name string
}

// IsValid reports whether the container can be part of a selection.
func (c *Container) IsValid() bool {
	text := Encode([]Container{*c})
	decoded, err := Decode(text)
	return err == nil && len(decoded) == 1 && decoded[0] == *c && c.PodUID != "" && c.ID != ""
}

// Bytes is the length of the container's line.
func (c *Container) Bytes() int {
	const separators = 5
	return len(c.PodUID) + len(c.ID) + len(c.Namespace) + len(c.Pod) + len(c.Name) + separators
}

// ErrInvalid is returned for an invalid selection.
var ErrInvalid = errors.New("invalid selection")

// Encode returns the selection as text.
func Encode(containers []Container) []byte {
	var text bytes.Buffer
	for i := range containers {
		c := &containers[i]
		fmt.Fprintf(&text, "%s %s %s %s %s\n", c.PodUID, c.ID, c.Namespace, c.Pod, c.Name)
	}
	return text.Bytes()
}

// Key returns the key of a text.
func Key(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Decode parses a text. All names that it accepts can be label values without escapes.
func Decode(text []byte) ([]Container, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrInvalid, MaxBytes)
	}
	count := bytes.Count(text, []byte{'\n'})
	if count > MaxContainers {
		return nil, fmt.Errorf("%w: %d containers, at most %d", ErrInvalid, count, MaxContainers)
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return nil, fmt.Errorf("%w: it ends in the middle of a line", ErrInvalid)
	}
	containers := make([]Container, 0, count)
	for line := range strings.Lines(string(text)) {
		c, err := decodeLine(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrInvalid, len(containers)+1, err)
		}
		containers = append(containers, c)
	}
	return containers, nil
}

func decodeLine(line string) (Container, error) {
	if len(line) > maxLineBytes {
		return Container{}, fmt.Errorf("more than %d bytes", maxLineBytes)
	}
	parts := strings.Split(line, " ")
	if len(parts) != 5 {
		return Container{}, fmt.Errorf("%d parts, want 5", len(parts))
	}
	c := Container{PodUID: parts[0], ID: parts[1], Namespace: parts[2], Pod: parts[3], Name: parts[4]}
	if !isName(c.Namespace, maxLabelBytes) || !isName(c.Pod, maxPodBytes) || !isName(c.Name, maxLabelBytes) {
		return Container{}, errors.New("not the name of a namespace, a pod and a container")
	}
	return c, nil
}

// isName reports whether a text has only the characters of a DNS subdomain.
func isName(text string, maxBytes int) bool {
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return text != "" && len(text) <= maxBytes
}

// Prepared is an encoded selection.
type Prepared struct {
	Text []byte
	Key  string
}

// Prepare encodes a selection.
func Prepare(containers []Container) *Prepared {
	text := Encode(containers)
	return &Prepared{Text: text, Key: Key(text)}
}

// The bounds of a response: some lines for each family, and four samples for each container, which repeat its names,
// with labels, a value and a time.
const (
	familiesBytes       = 4 << 10
	samplesPerContainer = 4
	sampleBytes         = 128
)

// MaxAnswerBytes returns the maximum length of an agent's response.
func (p *Prepared) MaxAnswerBytes() int {
	return familiesBytes + samplesPerContainer*(len(p.Text)+sampleBytes*bytes.Count(p.Text, []byte{'\n'}))
}

// Has returns a function that reports whether a container is part of the selection. It is for one goroutine, and
// prepares its table at its first call: if all containers are known already, that is never.
func (p *Prepared) Has() func(namespace, pod, name []byte) bool {
	var names map[string]struct{}
	var key []byte
	return func(namespace, pod, name []byte) bool {
		if names == nil {
			names = p.names()
		}
		key = append(append(append(append(append(key[:0], namespace...), ' '), pod...), ' '), name...)
		_, has := names[string(key)]
		return has
	}
}

// names returns the rest of each line after the UID and the ID: a namespace, a pod and a name.
func (p *Prepared) names() map[string]struct{} {
	names := make(map[string]struct{}, bytes.Count(p.Text, []byte{'\n'}))
	for line := range strings.Lines(string(p.Text)) {
		if parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3); len(parts) == 3 {
			names[parts[2]] = struct{}{}
		}
	}
	return names
}
