package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
)

const (
	// installedConfig is the configuration of a service that a package installed,
	// below the root of the file system.
	installedConfig = "etc/respawnd/respawnd.yaml"
	// installedData is the data folder that the unit of the service names.
	installedData = "var/lib/respawnd"
)

// findInstalled makes the installed service that of this command if the command
// names no other: by a configuration, a data folder or a variable. Without its data
// folder the service was never started, and is not used.
func (con *Console) findInstalled() {
	if con.looked || con.SystemRoot == "" || con.Config != "" {
		return
	}
	con.looked = true
	if _, given := con.Flags["data_dir"]; given || hasSetting(con.Env) {
		return
	}
	file, data := filepath.Join(con.SystemRoot, installedConfig), filepath.Join(con.SystemRoot, installedData)
	if missing(file) {
		return
	}
	// A file with mistakes is used too, because its owner must read of them.
	if cfg, _, err := services.Load(configs.Options{File: file}); err == nil && filepath.IsAbs(cfg.DataDir) {
		data = cfg.DataDir
	} else {
		con.Flags["data_dir"] = data
	}
	if missing(data) {
		delete(con.Flags, "data_dir")
		return
	}
	con.Config, con.found = file, file
	own := new(services.Config)
	configs.Defaults(own)
	if !missing(daemon.StorePath(own)) {
		_, _ = fmt.Fprintf(con.Err, "note: this is about the installed service; for the data in %s give --data-dir %s\n",
			wholePath(own.DataDir), own.DataDir)
	}
}

// hasSetting reports whether the environment has a variable of respawnd.
func hasSetting(env []string) bool {
	for _, v := range env {
		if strings.HasPrefix(v, configs.EnvPrefix) {
			return true
		}
	}
	return false
}

// missing reports whether there is no file or folder with a path. One that cannot
// be looked at is not missing: opening it reports why.
func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// SayFound says after an error which service the command was about, if its user did
// not name it.
func (con *Console) SayFound() {
	if con.found != "" {
		_, _ = fmt.Fprintf(con.Err, "note: without --config, --data-dir and RESPAWND_ variables this is about the installed service, %s\n", con.found)
	}
}

// InFound names the configuration in a sentence, if it was found.
func (con *Console) InFound() string {
	if con.found == "" {
		return ""
	}
	return " in " + con.found
}
