package nettest

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// WorldRole is the environment variable with the role of a copy of the test
// program in a World.
const WorldRole = "RESPAWND_NETNS_ROLE"

// World is a set of isolated networks: namespaces of the Linux kernel, with
// real links, broadcasts and address translation. Programs in a namespace are
// copies of the test program. The namespaces are removed when the test ends.
type World struct {
	t      testing.TB
	prefix string
}

// NewWorld returns a world without namespaces. It skips the test if it cannot
// make any: that needs Linux, root, the program ip, and the programs that the
// test names.
func NewWorld(t testing.TB, programs ...string) *World {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("network namespaces take Linux and root")
	}
	for _, program := range append([]string{"ip"}, programs...) {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the networks of this test are set up with %s: %v", program, err)
		}
	}
	return &World{t, "respawnd-" + rand.Text()[:8] + "-"}
}

// Add makes a namespace. Its loopback device is up.
func (w *World) Add(space string) {
	w.t.Helper()
	w.Run("ip", "netns", "add", w.prefix+space)
	w.t.Cleanup(func() { w.Run("ip", "netns", "delete", w.prefix+space) })
	w.In(space, "ip", "link", "set", "lo", "up")
}

// Name returns the name that the system has for a namespace.
func (w *World) Name(space string) string { return w.prefix + space }

// Link joins two namespaces with a cable between two new devices, which have no
// addresses yet.
func (w *World) Link(a, deviceA, b, deviceB string) {
	w.t.Helper()
	w.Run("ip", "link", "add", deviceA, "netns", w.prefix+a, "type", "veth", "peer", "name", deviceB, "netns", w.prefix+b)
}

// Address gives a device an address in CIDR form, such as 192.168.1.5/24, and
// sets it up.
func (w *World) Address(space, device, address string) {
	w.t.Helper()
	w.In(space, "ip", "address", "add", address, "broadcast", "+", "dev", device)
	w.In(space, "ip", "link", "set", device, "up")
}

// In runs a program in a namespace, which must succeed.
func (w *World) In(space string, args ...string) {
	w.t.Helper()
	w.Run("ip", append([]string{"netns", "exec", w.prefix + space}, args...)...)
}

// Run runs a program, which must succeed.
func (w *World) Run(program string, args ...string) {
	w.t.Helper()
	// It also runs in clean-ups, after the test's context has ended.
	if out, err := exec.CommandContext(context.Background(), program, args...).CombinedOutput(); err != nil {
		w.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// Child returns a command that runs one test of this program again, in a
// namespace and with a role. The caller starts it and waits for it. Environment
// variables that begin with TEST_AS_, which give a test binary another role,
// are not passed on.
func (w *World) Child(space, test, role string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), "ip", "netns", "exec", w.prefix+space, os.Args[0], "-test.run", "^"+test+"$", "-test.v")
	own := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TEST_AS_") })
	cmd.Env = append(append(own, WorldRole+"="+role), env...)
	return cmd
}
