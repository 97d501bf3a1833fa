package architecture

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
)

// listRequirements returns the modules that a go.mod file names, with the version that is built, replacements applied.
func listRequirements(ctx context.Context, path string) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, "go", "mod", "edit", "-json", path).Output()
	if err != nil {
		return nil, fmt.Errorf("go mod edit: %w", err)
	}
	type module struct{ Path, Version string }
	var parsed struct {
		Require []module
		Replace []struct{ Old, New module }
	}
	if err := json.Unmarshal(out, &parsed); err != nil {
		return nil, fmt.Errorf("decode go mod edit: %w", err)
	}
	versions := map[string]string{}
	for _, required := range parsed.Require {
		versions[required.Path] = required.Version
	}
	for _, replaced := range parsed.Replace {
		versions[replaced.Old.Path] = replaced.New.Version
	}
	return versions, nil
}
