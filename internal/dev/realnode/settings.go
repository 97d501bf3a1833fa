package realnode

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"strings"
)

// sandboxImage is the name of the image that keeps a pod's namespaces.
const sandboxImage = "plimsoll.local/pause:1"

// layout has the paths of a node.
type layout struct {
	dir string
}

func (l layout) path(elements ...string) string {
	return filepath.Join(append([]string{l.dir}, elements...)...)
}

func (l layout) socket() string { return l.path("containerd.sock") }

// containerdConfig is containerd's, with all its state in the node's folder. The network namespaces are there too, so
// that mounts can be found. Without CAP_SYS_RESOURCE, which root in a container often lacks, no process may lower
// oom_score_adj, and every sandbox would fail without restrict_oom_score_adj.
func (l layout) containerdConfig(runc string) string {
	const cri = `plugins."io.containerd.grpc.v1.cri"`
	lines := []string{
		"version = 2",
		fmt.Sprintf("root = %q", l.path("containerd")),
		fmt.Sprintf("state = %q", l.path("run")),
		"oom_score = 0",
		"[grpc]",
		fmt.Sprintf("  address = %q", l.socket()),
		`[plugins."io.containerd.internal.v1.opt"]`,
		fmt.Sprintf("  path = %q", l.path("opt")),
		"[" + cri + "]",
		fmt.Sprintf("  sandbox_image = %q", sandboxImage),
		"  restrict_oom_score_adj = true",
		"  netns_mounts_under_state_dir = true",
		"[" + cri + ".cni]",
		fmt.Sprintf("  bin_dir = %q", pluginDir),
		fmt.Sprintf("  conf_dir = %q", l.path("cni")),
		"[" + cri + ".containerd]",
		`  snapshotter = "overlayfs"`,
		`  default_runtime_name = "runc"`,
		"[" + cri + ".containerd.runtimes.runc]",
		`  runtime_type = "io.containerd.runc.v2"`,
		"[" + cri + ".containerd.runtimes.runc.options]",
		fmt.Sprintf("  BinaryName = %q", runc),
		fmt.Sprintf("  Root = %q", l.path("runc")),
		"  SystemdCgroup = false",
	}
	return strings.Join(lines, "\n") + "\n"
}

// networkConfig gives each pod an address of the subnet, on the bridge. Nothing is translated: pods reach this machine,
// each other, and nothing else.
func (l layout) networkConfig(subnet netip.Prefix) ([]byte, error) {
	return marshal(map[string]any{
		"cniVersion": "0.4.0",
		"name":       networkName,
		"plugins": []any{map[string]any{
			"type": "bridge", "bridge": bridgeName, "isGateway": true, "ipMasq": false,
			"ipam": map[string]any{
				"type": "host-local", "dataDir": l.path("addresses"),
				"ranges": []any{[]any{map[string]any{"subnet": subnet.String()}}},
				"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
			},
		}},
	})
}

// kubeletSettings are the settings that differ from node to node.
type kubeletSettings struct {
	address          string
	port             int
	clientCA         string
	certificate, key string
	more             map[string]any
}

// kubeletConfig is the kubelet's. It serves on the bridge alone. The machine is the caller's, not the node's: it is
// taken with cgroup v1, with swap, and without limits for what else runs on it, and nothing is evicted from it for a
// lack of disk space.
func (l layout) kubeletConfig(s kubeletSettings) ([]byte, error) {
	config := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"address": s.address, "port": s.port, "readOnlyPort": 0, "healthzPort": 0,
		"tlsCertFile": s.certificate, "tlsPrivateKeyFile": s.key,
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": s.clientCA},
		},
		"authorization":            map[string]any{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix://" + l.socket(),
		"cgroupDriver":             "cgroupfs", "cgroupRoot": CgroupRoot,
		"failCgroupV1": false, "failSwapOn": false, "enforceNodeAllocatable": []string{},
		"podLogsDir": l.path("pod-logs"), "volumePluginDir": l.path("volume-plugins"),
		"makeIPTablesUtilChains": false,
		"evictionHard": map[string]string{
			"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%",
		},
		"imageGCHighThresholdPercent": 100,
	}
	maps.Copy(config, s.more)
	return marshal(config)
}

func marshal(value any) ([]byte, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return append(text, '\n'), nil
}
