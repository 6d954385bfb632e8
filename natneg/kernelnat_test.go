//go:build linux && netns

package natneg_test

// With real NATs: the kernel's, in network namespaces. It needs root and the
// programs ip, nft and sysctl:
//
//	go test -tags netns -run Kernel ./natneg

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/netserve"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/ratetest"
	"github.com/respawnd/respawnd/natneg"
	"github.com/respawnd/respawnd/natneg/natnegtest"
)

// childFile tells a copy of the test program where to leave its result.
const childFile = "NATNEG_TEST_FILE"

// The addresses of the server; it routes between the two NATs too.
var kernelServers = [3]string{"198.51.100.1", "198.51.100.2", "198.51.100.3"}

// kernelNATs are nft rules by kind.
var kernelNATs = map[natnegtest.Kind]string{
	natnegtest.PortRestricted: nettest.PortRestrictedRouter, natnegtest.Symmetric: nettest.SymmetricRouter, natnegtest.FullCone: nettest.FullConeRouter,
	natnegtest.Restricted: nettest.RestrictedRouter,
}

func TestPlayersBehindKernelNATsMeet(t *testing.T) {
	tests := map[string]struct {
		client, host natnegtest.Kind
		want         natnegtest.End
	}{
		"restricted, symmetric":            {natnegtest.Restricted, natnegtest.Symmetric, natnegtest.Connected},
		"symmetric, restricted":            {natnegtest.Symmetric, natnegtest.Restricted, natnegtest.Connected},
		"port restricted, port restricted": {natnegtest.PortRestricted, natnegtest.PortRestricted, natnegtest.Connected},
		"symmetric, full cone":             {natnegtest.Symmetric, natnegtest.FullCone, natnegtest.Connected},
		"symmetric, port restricted":       {natnegtest.Symmetric, natnegtest.PortRestricted, natnegtest.PingTimeout},
		"symmetric, symmetric":             {natnegtest.Symmetric, natnegtest.Symmetric, natnegtest.PingTimeout},
	}
	ended, tried := 0, 0
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if t.Skipped() {
					return
				}
				if tried++; !t.Failed() {
					ended++
				}
			}()
			w := newKernelWorld(t, tc.client, tc.host)
			results := make([]natnegtest.Result, 2)
			var wg sync.WaitGroup
			for i := range results {
				wg.Go(func() { results[i] = w.play(i) })
			}
			wg.Wait()
			for i, r := range results {
				if r.End != tc.want || !r.Confirmed {
					t.Errorf("player %d: got %v, report confirmed %v; want %v", i, r.End, r.Confirmed, tc.want)
				}
			}
		})
	}
	if tried == 0 {
		t.Skip("no pair could be tried")
	}
	ratetest.Report(t, "pairs behind the kernel's NATs that end as expected", ended, tried)
}

// kernelWorld is a server, two NATs and a player behind each, in namespaces.
type kernelWorld struct {
	*nettest.World
	t   *testing.T
	dir string
}

func newKernelWorld(t *testing.T, kinds ...natnegtest.Kind) *kernelWorld {
	t.Helper()
	w := &kernelWorld{nettest.NewWorld(t, "nft", "sysctl"), t, t.TempDir()}
	w.Add("server")
	for _, a := range kernelServers {
		w.In("server", "ip", "address", "add", a+"/32", "dev", "lo")
	}
	w.In("server", "sysctl", "-qw", "net.ipv4.ip_forward=1")
	for i, kind := range kinds {
		w.Household("server", i, kernelNATs[kind])
	}
	w.serve()
	return w
}

// child returns a copy of the test program in a namespace.
func (w *kernelWorld) child(space, role, file string) *exec.Cmd {
	return w.Child(space, "TestKernelChild", role, childFile+"="+file)
}

// serve starts the server. It ends when its standard input does.
func (w *kernelWorld) serve() {
	w.t.Helper()
	cmd := w.child("server", "server", "")
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Text() != "ready" {
		if !lines.Scan() {
			w.t.Fatal("the server ended before it was ready")
		}
	}
	w.t.Cleanup(func() {
		_ = in.Close()
		for lines.Scan() {
		}
		_ = cmd.Wait() // ended by the end of the test's context, perhaps
	})
}

// play runs a player, 0 the client, 1 the host.
func (w *kernelWorld) play(i int) natnegtest.Result {
	file := filepath.Join(w.dir, fmt.Sprint("player", i))
	if out, err := w.child(fmt.Sprint("home", i), fmt.Sprint(i), file).CombinedOutput(); err != nil {
		w.t.Errorf("player %d: %v\n%s", i, err, out)
		return natnegtest.Result{End: natnegtest.Stopped}
	}
	var r natnegtest.Result
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		w.t.Errorf("player %d: %v", i, err)
	}
	return r
}

// TestKernelChild runs in a copy of the test program inside its own network namespace.
func TestKernelChild(t *testing.T) {
	switch role := os.Getenv(nettest.WorldRole); role {
	case "":
		t.Skip("it is part of TestPlayersBehindKernelNATsMeet")
	case "server":
		kernelServer(t)
	case "check":
		kernelCheck(t)
	default:
		kernelPlayer(t, role[0]-'0')
	}
}

func kernelServer(t *testing.T) {
	open := func(a string) *netserve.PacketConn {
		c, err := netserve.ListenPackets(t.Context(), "udp4", a, netserve.ListenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	sockets := natneg.Sockets{Second: open(kernelServers[0] + ":0")}
	for i, a := range kernelServers {
		c := open(a + ":27901")
		if i == 0 {
			sockets.Main = c
		} else {
			sockets.Extra = append(sockets.Extra, c)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		stop()
	}()
	_, _ = fmt.Fprintln(os.Stdout, "ready")
	if err := natneg.New(natneg.DefaultOptions()).Serve(ctx, sockets); err != nil {
		t.Error(err)
	}
}

func kernelPlayer(t *testing.T, index byte) {
	home := netip.MustParseAddr(nettest.HomeAddr)
	p := &natnegtest.Player{
		Net: natnegtest.System{}, Local: netip.AddrPortFrom(home, 5000), Game: netip.AddrPortFrom(home, 6500),
		Cookie: 0x12345678, Index: index, Name: "gmtest", Linger: time.Second,
	}
	for i, a := range kernelServers {
		p.Servers[i] = netip.AddrPortFrom(netip.MustParseAddr(a), 27901)
	}
	r, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv(childFile), data, 0o600); err != nil {
		t.Fatal(err)
	}
}
