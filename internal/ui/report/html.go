package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plimsoll-dev/plimsoll/internal/ui/web"
)

// page is the template of the file: policy, program, title, style, data, script. A browser runs only the script, whose
// hash the policy has. The data are JSON that cannot end their element.
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="%s">
<title>%s</title>
<link rel="icon" href="data:,">
<style>%s</style>
</head>
<body class="report">
<a class="skip" href="#main">Skip to the content</a>
<header>
  <h1>Plimsoll report</h1>
  <p id="context"></p>
  <label id="zone">Times in <select></select></label>
  <button id="theme" type="button">Dark</button>
</header>
<main id="main" tabindex="-1">
  <section id="object" aria-label="Autoscaler"></section>
</main>
<noscript>
This file needs JavaScript to show what is in it. It runs its own script alone, and connects to nothing.
</noscript>
<script type="application/json" id="data">%s</script>
<script>%s</script>
</body>
</html>
`

// WriteHTML writes the page.
func (r *Report) WriteHTML(w io.Writer) error {
	script, err := web.Script("report")
	if err != nil {
		return err
	}
	style, err := web.Style("report.css")
	if err != nil {
		return err
	}
	data, err := dataOf(r)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%s/%s, %s to %s", r.Object.Row.Namespace, r.Object.Row.Name, r.From.Format("2006-01-02 15:04"),
		r.To.Format("2006-01-02 15:04 UTC"))
	_, err = fmt.Fprintf(w, page, html.EscapeString(policyOf(script, style)), textOf(r.Program), textOf(title), style,
		data, script)
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// policyOf returns the Content-Security-Policy: it permits this script and this style, and no other source.
func policyOf(script, style string) string {
	return fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; "+
		"form-action 'none'", hashOf(script), hashOf(style))
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// dataOf returns JSON of printable ASCII alone, without <, > and &: so it neither ends its element nor begins a
// comment, and no program on the way to the file has a reason to replace characters.
func dataOf(value any) (string, error) {
	text, err := json.Marshal(value) // Marshal escapes <, > and &
	if err != nil {
		return "", fmt.Errorf("write JSON: %w", err)
	}
	return inASCII(string(text), func(out *strings.Builder, r rune) {
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(out, `\u%04x`, unit)
		}
	}), nil
}

// textOf returns text as HTML, in printable ASCII alone.
func textOf(text string) string {
	return inASCII(html.EscapeString(text), func(out *strings.Builder, r rune) { fmt.Fprintf(out, "&#x%x;", r) })
}

// inASCII replaces each character that is not a printable one of ASCII.
func inASCII(text string, replace func(*strings.Builder, rune)) string {
	var out strings.Builder
	for _, r := range text {
		if r >= ' ' && r < utf8.RuneSelf-1 {
			out.WriteRune(r)
		} else {
			replace(&out, r)
		}
	}
	return out.String()
}
