package process

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/plimsoll-dev/plimsoll/internal/buildinfo"
)

// LogFormat is the format of the log's lines.
type LogFormat string

// The formats.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// IsValid reports whether it is one of the formats.
func (f LogFormat) IsValid() bool { return f == LogText || f == LogJSON }

// NewLogger makes a logger. It writes text unless the format is JSON.
func NewLogger(out io.Writer, verbosity int, format LogFormat) logr.Logger {
	options := &slog.HandlerOptions{Level: slog.Level(-verbosity), ReplaceAttr: nameLevels}
	if format == LogJSON {
		return logr.FromSlogHandler(slog.NewJSONHandler(out, options))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(out, options))
}

// nameLevels prints every level of verbosity as DEBUG; slog would count them up
// from there.
func nameLevels(_ []string, attr slog.Attr) slog.Attr {
	if level, ok := attr.Value.Any().(slog.Level); ok && attr.Key == slog.LevelKey && level < slog.LevelInfo {
		return slog.String(slog.LevelKey, slog.LevelDebug.String())
	}
	return attr
}

// Prepare sets the global state of a process: the memory limits, and the logger of the libraries. It logs the version
// and build of the program.
func Prepare(log logr.Logger) {
	logBuild(log)
	setMemoryLimits()
	klog.SetLogger(log)
	ctrl.SetLogger(log)
}

func logBuild(log logr.Logger) {
	build := buildinfo.Get()
	log.Info("plimsoll", "version", build.Version, "commit", build.Commit, "go", build.Go, "platform", build.Platform)
}
