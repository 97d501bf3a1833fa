package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

// pageName is the name of the page's program and of its log.
const pageName = "plimsoll-ui"

// pageAddress matches the address that plimsoll ui prints.
var pageAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\?token=\S+`)

// startPage runs plimsoll ui until the cluster ends. The address that it returns is for a browser on this machine.
func startPage(
	ctx context.Context, cluster *devcluster.Cluster, program, inspection string,
) (address string, err error) {
	command := []string{
		program, "ui", "--no-browser", "--kubeconfig=" + cluster.KubeconfigPath(), "--controller-address=" + inspection,
		"--sync-period=5s",
	}
	_, err = cluster.StartProgram(ctx, pageName, command, func(context.Context) error {
		text, err := os.ReadFile(cluster.LogPath(pageName))
		if err != nil {
			return fmt.Errorf("reading the log of plimsoll ui: %w", err)
		}
		if address = string(pageAddress.Find(text)); address == "" {
			return errors.New("plimsoll ui has not printed its address")
		}
		return nil
	})
	return address, err
}
