package observe

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPodsAreFoundAtTheirOwnAddress(t *testing.T) {
	for text, want := range map[string]netip.Addr{
		"": {}, "none": {}, "fe80::1%eth0": {}, "::": {},
		"10.1.2.3":        netip.MustParseAddr("10.1.2.3"),
		"::ffff:10.1.2.3": netip.MustParseAddr("10.1.2.3"),
		"fd00::7":         netip.MustParseAddr("fd00::7"),
		"0.0.0.0":         netip.MustParseAddr("0.0.0.0"),
	} {
		pod := PodOf(&corev1.Pod{Spec: corev1.PodSpec{HostNetwork: true}, Status: corev1.PodStatus{PodIP: text}})
		if got := pod.Address(); got != want || !pod.IsHostNetwork() {
			t.Errorf("%q: %s, host network %t", text, got, pod.IsHostNetwork())
		}
	}
}

func TestPortsHaveNames(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	port := func(name string, number int32, protocol corev1.Protocol) corev1.ContainerPort {
		return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: protocol}
	}
	pod := PodOf(&corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{
			{Ports: []corev1.ContainerPort{port("", 1, ""), port("dns", 53, corev1.ProtocolUDP), port("http", 8080, "")}},
			{Ports: []corev1.ContainerPort{port("http", 9999, ""), port("metrics", 9090, corev1.ProtocolTCP)}},
		},
		InitContainers: []corev1.Container{
			{Ports: []corev1.ContainerPort{port("once", 7, "")}},
			{RestartPolicy: &always, Ports: []corev1.ContainerPort{port("sidecar", 15020, "")}},
		},
	}})
	for name, want := range map[string]uint16{
		"http": 8080, "metrics": 9090, "sidecar": 15020, "dns": 0, "once": 0, "": 0, "htt": 0,
	} {
		if got, has := pod.Port(name); got != want || has != (want != 0) {
			t.Errorf("%q: %d, %t", name, got, has)
		}
	}
	if _, has := new(Pod).Port("http"); has {
		t.Error("an unknown pod has a port")
	}
}
