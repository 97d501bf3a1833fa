package realnode

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMissingNamesEverythingAtOnce(t *testing.T) {
	absent := func(names ...string) func(string) (string, error) {
		return func(program string) (string, error) {
			for _, name := range names {
				if name == filepath.Base(program) {
					return "", errors.New("not found")
				}
			}
			return "/usr/bin/" + program, nil
		}
	}
	more := append(Requirements(), Requirement{"ab", "apache2-utils"})
	if err := missing(more, 0, absent()); err != nil {
		t.Errorf("nothing is missing: %v", err)
	}
	err := missing(more, 1000, absent("containerd", "ctr", "host-local", "ab"))
	if !errors.Is(err, ErrMissing) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"\n  root", "\n  containerd\n", "\n  ctr\n", "\n  /usr/lib/cni/host-local\n", "\n  ab\n",
		"apt-get install --no-install-recommends containerd containernetworking-plugins apache2-utils",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "runc\n") || strings.Contains(err.Error(), "iproute2") {
		t.Errorf("names what is there: %v", err)
	}
	if err := missing(more, 1000, absent()); err == nil || strings.Contains(err.Error(), "apt-get") {
		t.Errorf("root alone is missing, and no package: %v", err)
	}
}

func TestFindKnowsAbsolutePaths(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if _, err := Find(path); err == nil {
		t.Error("a missing object is found")
	}
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Find(path); err != nil || got != path {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestContainerdKeepsToTheFolder(t *testing.T) {
	got := layout{dir: "/some/node"}.containerdConfig("/usr/sbin/runc")
	const want = `version = 2
root = "/some/node/containerd"
state = "/some/node/run"
oom_score = 0
[grpc]
  address = "/some/node/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "/some/node/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "plimsoll.local/pause:1"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
  conf_dir = "/some/node/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
  default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  BinaryName = "/usr/sbin/runc"
  Root = "/some/node/runc"
  SystemdCgroup = false
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNetworkConfig(t *testing.T) {
	text, err := layout{dir: "/some/node"}.networkConfig(netip.MustParsePrefix("10.213.7.0/24"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Name    string
		Plugins []struct {
			Type, Bridge string
			IsGateway    bool
			IPAM         struct {
				Type, DataDir string
				Ranges        [][]struct{ Subnet string }
			}
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Plugins) != 1 {
		t.Fatalf("got %s", text)
	}
	p := got.Plugins[0]
	if p.Type != "bridge" || p.Bridge != bridgeName || !p.IsGateway || p.IPAM.Type != "host-local" ||
		p.IPAM.DataDir != "/some/node/addresses" || p.IPAM.Ranges[0][0].Subnet != "10.213.7.0/24" {
		t.Errorf("got %s", text)
	}
}

func TestKubeletConfigCanBeOverruled(t *testing.T) {
	text, err := layout{dir: "/some/node"}.kubeletConfig(kubeletSettings{
		address: "10.213.0.1", port: 10260, clientCA: "/pki/ca.crt", certificate: "/pki/kubelet.crt", key: "/pki/kubelet.key",
		more: map[string]any{
			"evictionHard": map[string]string{"memory.available": "100Mi"},
			"featureGates": map[string]bool{"InPlacePodVerticalScaling": true},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"address": "10.213.0.1", "port": 10260.0, "cgroupDriver": "cgroupfs", "cgroupRoot": "/plimsoll-node",
		"failCgroupV1": false, "failSwapOn": false, "enforceNodeAllocatable": []any{}, "readOnlyPort": 0.0,
		"authorization": map[string]any{"mode": "Webhook"}, "containerRuntimeEndpoint": "unix:///some/node/containerd.sock",
		"evictionHard": map[string]any{"memory.available": "100Mi"},
		"featureGates": map[string]any{"InPlacePodVerticalScaling": true},
	}
	for field, value := range want {
		if diff := cmp.Diff(value, got[field]); diff != "" {
			t.Errorf("%s: %s", field, diff)
		}
	}
}

func TestSubnetIsFree(t *testing.T) {
	routes := parseRoutes(`default via 192.0.2.1 dev eth0
192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.2
10.213.0.0/23 via 192.0.2.7 dev eth0
local 10.213.2.5 dev eth0 table local proto kernel scope host src 10.213.2.5
broadcast 10.213.3.255 dev eth0 table local proto kernel scope link src 10.213.3.2
`)
	got, err := chooseSubnet(routes)
	if want := netip.MustParsePrefix("10.213.4.0/24"); err != nil || got != want {
		t.Errorf("got %v %v, want %v of %v", got, err, want, routes)
	}
	if g := gateway(got).String(); g != "10.213.4.1" {
		t.Errorf("gateway %s", g)
	}
	if _, err := chooseSubnet([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}); err == nil {
		t.Error("chose a network that is in use")
	}
}

func TestAttachedInterfaces(t *testing.T) {
	got := attached("7: vethc3@if2: <BROADCAST,UP> mtu 1500 master plimsoll0\n9: dummy0: <BROADCAST> mtu 1500\n")
	if diff := cmp.Diff([]string{"vethc3", "dummy0"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMountsComeOffInReverse(t *testing.T) {
	got := parseMounts(`25 1 254:0 / / rw - ext4 /dev/vda rw
90 25 0:50 / /var/lib/plimsoll-node/run/rootfs rw - overlay overlay rw
91 90 0:51 / /var/lib/plimsoll-node/run/rootfs/dev rw - tmpfs tmpfs rw
92 25 0:52 / /var/lib/plimsoll-node-of-another rw - tmpfs tmpfs rw
`, "/var/lib/plimsoll-node")
	want := []string{"/var/lib/plimsoll-node/run/rootfs/dev", "/var/lib/plimsoll-node/run/rootfs"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyTheNodesProgramsAreOurs(t *testing.T) {
	const dir = "/var/lib/plimsoll-node"
	for cmdline, want := range map[string]bool{
		"/usr/bin/containerd-shim-runc-v2\x00-namespace\x00k8s.io\x00-address\x00/var/lib/plimsoll-node/containerd.sock\x00": true,
		"/bin/kubelet\x00--config=/var/lib/plimsoll-node/kubelet.json\x00":                                                   true,
		"/usr/bin/containerd\x00--config\x00/etc/containerd.toml\x00":                                                        false,
		"/usr/bin/containerd\x00--config\x00/var/lib/plimsoll-node-2/containerd.toml\x00":                                    false,
		"vim\x00/var/lib/plimsoll-node/kubelet.json\x00":                                                                     false,
		"": false,
	} {
		if got := isOurs(cmdline, dir); got != want {
			t.Errorf("%q: got %v", cmdline, got)
		}
	}
}

func TestProcessorTime(t *testing.T) {
	got, err := parseStat("42 (a) b (c) S 1 42 42 0 -1 4194560 900 0 1 0 250 31 7 8 20 0 12 0 100 1000 10 1844 1 1\n")
	if want := 2810 * time.Millisecond; err != nil || got != want {
		t.Errorf("got %v %v, want %v", got, err, want)
	}
	for _, text := range []string{"", "42 (a) S 1", "42 (a) S 1 2 3 4 5 6 7 8 9 10 x y 13"} {
		if _, err := parseStat(text); err == nil {
			t.Errorf("%q has no processor time", text)
		}
	}
	if _, err := processCPU(os.Getpid()); err != nil {
		t.Error(err)
	}
}

func TestOneNodeAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	first, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockDir(dir); err == nil {
		t.Fatal("locked twice")
	}
	if err := unlockDir(first); err != nil {
		t.Fatal(err)
	}
	second, err := lockDir(dir)
	if err != nil {
		t.Fatalf("not free again: %v", err)
	}
	if err := unlockDir(second); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + ".lock"); err == nil {
		t.Error("the lock's file is left")
	}
}

// Stored files are restored, folders that existed stay.
func TestRestore(t *testing.T) {
	l := layout{dir: t.TempDir()}
	tunable := filepath.Join(l.dir, "tunable")
	text, err := json.Marshal(before{Tunables: map[string]string{tunable: "7"}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{tunable: "1\n", l.beforePath(): string(text)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := restore(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(tunable); err != nil || string(got) != "7" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := restore(t.Context(), layout{dir: t.TempDir()}); err != nil {
		t.Errorf("nothing was remembered: %v", err)
	}
}

func TestForwarderPassesBothWaysAndEnds(t *testing.T) {
	var config net.ListenConfig
	server, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	f, err := forward(t.Context(), "127.0.0.1:0", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := dial(t, f.listener.Addr().String())
	if _, err := client.Write([]byte("there and back")); err != nil {
		t.Fatal(err)
	}
	if err := client.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(client); err != nil || string(got) != "there and back" {
		t.Errorf("got %q, %v", got, err)
	}
	open := dial(t, f.listener.Addr().String())
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlived the forwarder")
	}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	dialer := net.Dialer{Timeout: 5 * time.Second}
	c, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestKillAllGivesUp(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	// A process that is not there cannot be killed; a search that always finds it would wait forever.
	err := killAll(ctx, "nobody", func() ([]int, error) { return []int{1 << 30}, nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
