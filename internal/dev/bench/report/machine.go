package report

import (
	"os"
	"runtime"
	"strings"
	"time"
)

// Machine identifies the machine and time of a measurement: numbers of two machines must not be compared.
type Machine struct {
	At        time.Time `json:"at"`
	CPUs      int       `json:"cpus"`
	CPUModel  string    `json:"cpuModel,omitempty"`
	OS        string    `json:"os"`
	Arch      string    `json:"arch"`
	GoVersion string    `json:"goVersion"`
}

// ThisMachine describes the machine at a time. The model of its CPUs is available on Linux only.
func ThisMachine(at time.Time) Machine {
	machine := Machine{
		At: at.UTC().Truncate(time.Second), CPUs: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		GoVersion: runtime.Version(),
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		machine.CPUModel = cpuModel(string(text))
	}
	return machine
}

func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
