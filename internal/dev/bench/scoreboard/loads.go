package scoreboard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scoreboard/madeup"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
)

// source is a load for each seed: the same one, unless the seed decides what is made up.
type source struct {
	name  string
	seeds []*load.Load
}

// sources opens all loads, each once: they are only read while they are played.
func (c *Config) sources() ([]source, error) {
	paths, err := c.paths()
	if err != nil {
		return nil, err
	}
	var all []source
	for _, path := range paths {
		l, err := load.Parse(path)
		if err != nil {
			return nil, err
		}
		if l, err = l.From(c.Start); err != nil {
			return nil, err
		}
		s := source{name: shortName(path)}
		for range c.Seeds {
			s.seeds = append(s.seeds, l)
		}
		all = append(all, s)
	}
	for _, name := range c.madeUp() {
		s := source{name: name}
		for i := range c.Seeds {
			l, err := madeup.Make(name, c.seed(i))
			if err != nil {
				return nil, err
			}
			if l, err = l.From(c.Start); err != nil {
				return nil, err
			}
			s.seeds = append(s.seeds, l)
		}
		all = append(all, s)
	}
	return all, nil
}

// madeUp are the names of the made-up loads.
func (c *Config) madeUp() (names []string) {
	if c.MadeUp {
		names = madeup.Names()
	}
	if c.Drawn {
		names = append(names, madeup.DrawnNames()...)
	}
	return names
}

// seed is the seed of the n-th time.
func (c *Config) seed(n int) uint64 { return c.FirstSeed + uint64(n) }

// paths are the names of those loads that have one.
func (c *Config) paths() ([]string, error) {
	if c.Folder == "" && len(c.madeUp()) > 0 {
		return nil, nil
	}
	var names []string
	if c.Folder == "" {
		for _, name := range load.GeneratedNames() {
			names = append(names, "generated:"+name)
		}
		return names, nil
	}
	entries, err := os.ReadDir(c.Folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".csv.gz") {
			names = append(names, filepath.Join(c.Folder, name))
		}
	}
	if len(names) == 0 {
		return nil, errors.New(c.Folder + ": there is no trace in it: no .csv or .csv.gz")
	}
	return names, nil
}

func shortName(name string) string {
	name = strings.TrimPrefix(name, "generated:")
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), ".gz"), ".csv")
}
