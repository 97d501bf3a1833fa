// Package images assembles the images of the experiment on a real node.
package images

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/image"
	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
)

// The images' names.
const (
	Nginx    = "plimsoll.local/nginx:1"
	Exporter = "plimsoll.local/requestexporter:1"
)

// ExporterPort is the port of the exporter of nginx' count of requests.
const ExporterPort = 9113

// statusPort is the port of nginx' status, on the pod's loopback address.
const statusPort = "8080"

// nginxConfig is nginx as small as it gets. It runs as root because the image has no other user.
const nginxConfig = `user root root;
worker_processes 1;
daemon off;
pid /tmp/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 1000000;
  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;
  server {
    listen 80;
    root /www;
  }
  server {
    listen 127.0.0.1:` + statusPort + `;
    location = /status { stub_status; }
  }
}
`

const nginxPage = `<!DOCTYPE html>
<html>
<head><title>Welcome</title></head>
<body><h1>It works</h1><p>A page of a few hundred bytes, as a web server's first one is.</p></body>
</html>
`

// NewExporter is the exporter's program, from a folder of binaries, alone.
func NewExporter(binDir string) (v1.Image, error) {
	program, err := os.ReadFile(filepath.Join(binDir, build.RequestExporter))
	if err != nil {
		return nil, fmt.Errorf("exporter's image: %w", err)
	}
	const path = "/requestexporter"
	return image.Assemble([]image.File{{Path: path, Content: program, Mode: 0o755}}, v1.Config{
		Entrypoint: []string{path, fmt.Sprintf(":%d", ExporterPort), "http://127.0.0.1:" + statusPort + "/status"},
		User:       "65532:65532",
	})
}

// NewNginx is this machine's nginx, with its libraries, as an image.
func NewNginx(ctx context.Context) (v1.Image, error) {
	program, err := realnode.Find("nginx")
	if err != nil {
		return nil, fmt.Errorf("nginx: %w", err)
	}
	files, err := image.HostProgram(ctx, program)
	if err != nil {
		return nil, fmt.Errorf("nginx: %w", err)
	}
	files = append(files,
		image.File{Path: "/etc/nginx/nginx.conf", Content: []byte(nginxConfig), Mode: 0o644},
		image.File{Path: "/etc/passwd", Content: []byte("root:x:0:0::/:/\n"), Mode: 0o644},
		image.File{Path: "/etc/group", Content: []byte("root:x:0:\n"), Mode: 0o644},
		image.File{Path: "/www/index.html", Content: []byte(nginxPage), Mode: 0o644},
		image.File{Path: "/tmp", Mode: 0o1777, Folder: true},
		image.File{Path: "/var/log/nginx", Mode: 0o755, Folder: true},
	)
	return image.Assemble(files, v1.Config{Entrypoint: []string{program, "-c", "/etc/nginx/nginx.conf"}})
}
