package devcluster

import (
	"context"
	"os"
	"testing"
)

func TestSmoke(t *testing.T) {
	c, err := Start(t.Context(), Config{BinDir: os.Getenv("PLIMSOLL_BIN"), Log: t.Logf, MetricsServer: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	out, err := c.Kubectl(context.Background(), "get", "nodes", "-o", "wide")
	t.Log(out, err)
	k := func(args ...string) { out, err := c.Kubectl(context.Background(), args...); t.Log(out, err) }
	k("create", "deployment", "web", "--image=x", "--replicas=3")
	k("wait", "--for=condition=Available", "deploy/web", "--timeout=15s")
	k("get", "pods", "-o", "wide")
	k("get", "pods", "-o", "yaml")
	k("get", "events")
	k("delete", "deploy", "web")
	k("wait", "--for=delete", "pod", "-l", "app=web", "--timeout=9s")
	k("get", "pods", "-o", "wide")
}
