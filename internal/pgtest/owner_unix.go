//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"sync"
	"syscall"
)

// unsupported says why no server runs on this system.
const unsupported = ""

// lastID is the user without rights of most systems.
const lastID = "65534"

// owner returns the user that runs servers when root runs the tests, else nil.
var owner = sync.OnceValues(func() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(superuser)
	if err != nil {
		u, err = user.LookupId(lastID)
	}
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no other user: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
})

// own gives a folder to the user that runs servers.
func own(dir string) error {
	o, err := owner()
	if err != nil || o == nil {
		return err
	}
	return os.Chown(dir, int(o.Uid), int(o.Gid))
}

// asOwner has a command run as the user that runs servers, in a process group of its
// own, so that an interrupt of the tests does not reach it.
func asOwner(cmd *exec.Cmd) error {
	o, err := owner()
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: o}
	return nil
}
