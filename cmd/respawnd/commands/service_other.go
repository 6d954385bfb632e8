//go:build !windows

package commands

import "errors"

func openServices() (serviceManager, error) {
	return nil, errors.New("this is about Windows alone: elsewhere the packages bring a unit for systemd, see docs/operators/install.md")
}
