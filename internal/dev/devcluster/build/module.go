package build

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
)

// verticalModule is upstream's vertical autoscaler.
const verticalModule = "k8s.io/autoscaler/vertical-pod-autoscaler"

// VerticalAutoscalerDir is the go command's copy of the module of upstream's vertical autoscaler, with its manifests.
// It is downloaded if it is missing.
func VerticalAutoscalerDir(ctx context.Context) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", verticalModule)
	cmd.Dir = filepath.Join(root, autoscaler)
	cmd.Env = environment(cmd.Dir)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("download %s: %w: %s", verticalModule, err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("download %s: %w", verticalModule, err)
	}
	return module.Dir, nil
}
