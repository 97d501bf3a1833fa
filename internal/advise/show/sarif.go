package show

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/rules"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// The few fields of SARIF 2.1.0 that a finding fills.
// See https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/sarif-v2.1.0-os.html.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string             `json:"id"`
		ShortDescription     sarifText          `json:"shortDescription"`
		FullDescription      sarifText          `json:"fullDescription"`
		HelpURI              string             `json:"helpUri"`
		DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful        bool                `json:"executionSuccessful"`
		ToolExecutionNotifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level          string         `json:"level"`
		Message        sarifText      `json:"message"`
		AssociatedRule *sarifRuleLink `json:"associatedRule,omitempty"`
	}
	sarifRuleLink struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		PhysicalLocation *sarifPhysical `json:"physicalLocation,omitempty"`
		LogicalLocations []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

// SARIF's own levels.
var sarifLevels = map[rules.Level]string{rules.Error: "error", rules.Warning: "warning", rules.Advice: "note"}

// SARIF writes the report with the rules that were looked for, as SARIF 2.1.0.
func SARIF(w io.Writer, report *rules.Report, known []*rules.Rule, version string) error {
	run := sarifRun{
		Tool: sarifTool{Driver: sarifDriver{
			Name: "plimsoll advise", Version: version, InformationURI: "https://github.com/plimsoll-dev/plimsoll",
			Rules: []sarifRule{},
		}},
		Invocations: []sarifInvocation{{ExecutionSuccessful: true}},
		Results:     []sarifResult{},
	}
	index := map[*rules.Rule]int{}
	for i, r := range known {
		index[r] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: r.Name, ShortDescription: sarifText{r.Title}, FullDescription: sarifText{r.Why}, HelpURI: r.Source,
			DefaultConfiguration: sarifConfiguration{sarifLevels[r.Level]},
		})
	}
	for i := range report.Findings {
		f := &report.Findings[i]
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule.Name, RuleIndex: index[f.Rule], Level: sarifLevels[f.Rule.Level],
			Message: sarifText{message(f)}, Locations: []sarifLocation{location(f)},
		})
	}
	for _, s := range report.Skipped {
		run.Invocations[0].ToolExecutionNotifications = append(run.Invocations[0].ToolExecutionNotifications,
			sarifNotification{
				Level: "note", Message: sarifText{"Not looked for, as " + s.Why + "."}, AssociatedRule: &sarifRuleLink{s.Rule.Name},
			})
	}
	for _, u := range unexamined(report) {
		run.Invocations[0].ToolExecutionNotifications = append(run.Invocations[0].ToolExecutionNotifications,
			sarifNotification{Level: "note", Message: sarifText{
				"Not examined, as " + u.why + ": " + strings.Join(u.names, ", ") + "."}})
	}
	return output.JSON(w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
}

func message(f *rules.Finding) string {
	text := f.Why
	if len(f.Field) > 0 {
		text = f.Field.String() + ": " + text
	}
	if f.Remedy != "" {
		text += " " + f.Remedy
	}
	if f.Snippet != "" {
		text += "\n\n" + strings.TrimSpace(f.Snippet)
	}
	if f.Patch != nil {
		text += "\n\n" + f.Patch.Command() + "\n" + strings.TrimSpace(f.Patch.YAML())
	}
	return text
}

func location(f *rules.Finding) sarifLocation {
	l := sarifLocation{LogicalLocations: []sarifLogical{{
		FullyQualifiedName: strings.TrimSpace(title(f.Object) + " " + f.Field.String()), Kind: "resource",
	}}}
	if p := f.Object.Place; p.File != "" {
		region := sarifRegion{StartLine: p.LineOf(f.Field)}
		l.PhysicalLocation = &sarifPhysical{ArtifactLocation: sarifArtifact{uri(p)}, Region: region}
	}
	return l
}

func uri(p objects.Place) string { return strings.ReplaceAll(filepath.ToSlash(p.File), " ", "%20") }
