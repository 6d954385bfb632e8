package front

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/web/webtest"
)

// headTime is the time for the head of a request.
const headTime = 5 * time.Second

func TestHeaderSize(t *testing.T) {
	serving(t, func(t *testing.T, _ *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		for name, tc := range map[string]struct{ length, want int }{
			"within the bound": {maxHeader - 200, http.StatusOK},
			"too large":        {maxHeader + 8<<10, http.StatusRequestHeaderFieldsTooLarge},
		} {
			c := ln.Dial(t)
			go func() { // the rest of a header that is too large is not read
				_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("a", tc.length)+"\r\n\r\n")
			}()
			status, err := bufio.NewReader(c).ReadString('\n')
			if want := fmt.Sprintf("HTTP/1.1 %d ", tc.want); err != nil || !strings.HasPrefix(status, want) {
				t.Errorf("%s, %d bytes: got %q, %v; want %q", name, tc.length, status, err, want)
			}
		}
	})
}

func TestTimeoutSilent(t *testing.T) {
	serving(t, func(t *testing.T, _ *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		webtest.EndsAfter(t, ln.Dial(t), headTime)
	})
}

func TestTimeoutSlowHeader(t *testing.T) {
	serving(t, func(t *testing.T, _ *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		c := ln.Dial(t)
		var dripping sync.WaitGroup
		defer dripping.Wait()
		dripping.Go(func() {
			for range 100 {
				if _, err := io.WriteString(c, "G"); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		webtest.EndsAfter(t, c, headTime)
	})
}

func TestTimeoutIdle(t *testing.T) {
	serving(t, func(t *testing.T, _ *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		c := ln.Dial(t)
		webtest.Ask(t, c, webtest.GetList)
		webtest.EndsAfter(t, c, idleTimeout)
	})
}

// onItsWay returns the bytes that the service is sending.
func onItsWay(f *fixture) int {
	o := &f.front.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

func TestTimeoutSlowReader(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, _ func() time.Duration) {
		f.large(1200)
		c := ln.Dial(t)
		if _, err := io.WriteString(c, webtest.GetList); err != nil {
			t.Fatalf("Write: %v", err)
		}
		synctest.Wait() // the answer is stuck
		if onItsWay(f) == 0 {
			t.Error("an answer on its way is not counted")
		}
		time.Sleep(writeTimeout)
		synctest.Wait()
		if n := onItsWay(f); n != 0 {
			t.Errorf("after the time-out %d bytes are still on their way", n)
		}
		webtest.EndsAfter(t, c, 0)
	})
}

func TestStopGrace(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, stop func() time.Duration) {
		f.large(60)
		stuck, idle, silent := ln.Dial(t), ln.Dial(t), ln.Dial(t)
		webtest.Ask(t, idle, webtest.GetList)
		if _, err := io.WriteString(stuck, webtest.GetList); err != nil {
			t.Fatalf("Write: %v", err)
		}
		synctest.Wait()
		if took := stop(); took != grace {
			t.Errorf("Serve ended after %v, want %v", took, grace)
		}
		synctest.Wait()
		for _, c := range []net.Conn{stuck, idle, silent} {
			webtest.EndsAfter(t, c, 0)
		}
	})
}

func TestStopIdle(t *testing.T) {
	serving(t, func(t *testing.T, _ *fixture, ln *webtest.Pipes, stop func() time.Duration) {
		webtest.Ask(t, ln.Dial(t), webtest.GetList)
		if took := stop(); took > 100*time.Millisecond {
			t.Errorf("Serve ended after %v although no request was pending", took)
		}
	})
}

func TestStopFinishesAnswer(t *testing.T) {
	serving(t, func(t *testing.T, f *fixture, ln *webtest.Pipes, stop func() time.Duration) {
		f.large(60)
		c := ln.Dial(t)
		if _, err := io.WriteString(c, webtest.GetList); err != nil {
			t.Fatalf("Write: %v", err)
		}
		synctest.Wait()
		go func() {
			time.Sleep(grace / 2)
			body, err := io.ReadAll(c)
			if err != nil || !strings.HasSuffix(string(body), "}\n") {
				t.Errorf("the answer was cut: %d bytes, %v", len(body), err)
			}
		}()
		if took := stop(); took < grace/2 || took >= grace {
			t.Errorf("Serve ended after %v, want between %v and %v", took, grace/2, grace)
		}
	})
}
