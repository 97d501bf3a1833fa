package page

import (
	"errors"
	"mime"
	"slices"
	"strings"
)

// Accept is the Accept header of a request for a page.
const Accept = "text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.8"

// The versions that are read; a page may leave its version out.
var (
	textVersions        = []string{"", "0.0.4", "1.0.0"}
	openMetricsVersions = []string{"", "0.0.1", "1.0.0"}
)

var errFormat = errors.New("the page has none of the requested formats")

// Format is the format of a page.
type Format uint8

// The formats.
const (
	Unknown Format = iota
	Text
	OpenMetrics
)

func (f Format) String() string {
	switch f {
	case Text:
		return "text"
	case OpenMetrics:
		return "OpenMetrics"
	case Unknown:
	}
	return "unknown"
}

// FormatOf returns the format for a Content-Type header. Without the header it is text, as the text format's
// description demands.
func FormatOf(contentType string) (Format, error) {
	const usual = "text/plain; version=0.0.4"
	if rest, ok := strings.CutPrefix(contentType, usual); ok && (rest == "" || rest[0] == ';') || contentType == "" {
		return Text, nil
	}
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return Unknown, errFormat
	}
	version := parameters["version"]
	switch {
	case media == "text/plain" && slices.Contains(textVersions, version):
		return Text, nil
	case media == "application/openmetrics-text" && slices.Contains(openMetricsVersions, version):
		return OpenMetrics, nil
	}
	return Unknown, errFormat
}
