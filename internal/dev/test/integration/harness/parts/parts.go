// Package parts runs single programs of Plimsoll beside a cluster, and breaks what they depend on.
package parts

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// Program builds Plimsoll and is where it stands.
func Program(ctx context.Context) (string, error) {
	built, err := build.Run(ctx, build.Config{Parts: []string{"plimsoll"}, Out: os.Stderr})
	if err != nil {
		return "", err
	}
	return filepath.Join(built.BinDir, "plimsoll"), nil
}

// InstallWebhook applies the MutatingWebhookConfiguration of config/, which no account there may create. It leads to a
// URL without a server: nothing here resolves Services, and servers register themselves by URL.
func InstallWebhook(ctx context.Context, cluster *devcluster.Cluster) error {
	root, err := build.Root()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, "config", "vertical", "webhook.yaml"))
	if err != nil {
		return err
	}
	shipped := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := yaml.UnmarshalStrict(text, shipped); err != nil {
		return err
	}
	shipped.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1")}
	configurations := cluster.Client().AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err = configurations.Create(ctx, shipped, metav1.CreateOptions{})
	return err
}

// NoController is for clusters without a controller's log.
func NoController(cluster *devcluster.Cluster) error {
	return os.WriteFile(cluster.LogPath("plimsoll"), nil, 0o600)
}

// ServiceAccount is the kubeconfig of one of config/'s accounts.
func ServiceAccount(cluster *devcluster.Cluster, name string) (string, error) {
	const namespace = "plimsoll-system"
	return cluster.KubeconfigFor("system:serviceaccount:"+namespace+":"+name,
		"system:serviceaccounts", "system:serviceaccounts:"+namespace, "system:authenticated")
}

// Granted ends a program with the test, which fails if the program lacked a right.
func Granted(t *testing.T, cluster *devcluster.Cluster, program *devcluster.Program, name string) {
	t.Helper()
	t.Cleanup(func() {
		program.Stop(context.WithoutCancel(t.Context()))
		log, err := os.ReadFile(cluster.LogPath(name))
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(log), "is forbidden: User ") {
			t.Errorf("config/ does not grant %s what it needs", name)
		}
		if t.Failed() {
			t.Logf("the log of %s:\n%s", name, log)
		}
	})
}

// Answers waits for nothing: it is an error unless the URL answers 200 now.
func Answers(ctx context.Context, url string) error {
	return devcluster.Answers(http.DefaultClient, url)(ctx)
}

// FreeAddresses are addresses of this machine that were free a moment ago.
func FreeAddresses(ctx context.Context, count int) ([]string, error) {
	var addresses []string
	var config net.ListenConfig
	for range count {
		listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		// Only then, or the next one may be the same.
		defer func() { _ = listener.Close() }() //nolint:gocritic // all of them stay open until the last is found
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

// FreeAddress returns a free address.
func FreeAddress(t *testing.T) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(deadPort(t))))
}

// Metric is the sum of all series of a metric that have the labels, as a program's /metrics shows them: name="value".
func Metric(ctx context.Context, address, name string, labels ...string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var sum float64
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		value, err := valueOf(lines.Text(), name, labels)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, lines.Err()
}

// valueOf is a line's value, or 0 if the line is not about the metric.
func valueOf(line, name string, labels []string) (float64, error) {
	series, value, found := strings.Cut(line, " ")
	if at := strings.Index(line, "} "); at >= 0 {
		series, value, found = line[:at+1], line[at+2:], true
	}
	if !found || series != name && !strings.HasPrefix(series, name+"{") {
		return 0, nil
	}
	for _, label := range labels {
		if !strings.Contains(series, label) {
			return 0, nil
		}
	}
	number, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0, fmt.Errorf("metric %q: %w", line, err)
	}
	return number, nil
}
