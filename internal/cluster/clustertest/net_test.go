package clustertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/cluster"
)

// collect returns the messages that a node receives on a subject.
func collect(b cluster.Bus, subject string) *[]string {
	got := new([]string)
	b.Subscribe(subject, func(from string, data []byte) { *got = append(*got, from+":"+string(data)) })
	return got
}

func check(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(t, "a", "b", "c")
		a := n.Bus("a")
		atA, atB, atC := collect(a, "x"), collect(n.Bus("b"), "x"), collect(n.Bus("c"), "x")
		for _, text := range []string{"1", "2"} {
			if err := a.Publish("x", []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Send("c", "x", []byte("3")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		check(t, "at a", *atA, nil)
		check(t, "at b", *atB, []string{"a:1", "a:2"})
		check(t, "at c", *atC, []string{"a:1", "a:2", "a:3"})
		if err := a.Publish("x", make([]byte, cluster.MaxPayload+1)); !errors.Is(err, cluster.ErrTooLarge) {
			t.Errorf("too large: %v", err)
		}
		if err := a.Send("d", "x", nil); !errors.Is(err, cluster.ErrGone) {
			t.Errorf("to an unknown node: %v", err)
		}
	})
}

func TestCutAndHeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(t, "a", "b", "c")
		n.SetSilence(3 * time.Second)
		a, b := n.Bus("a"), n.Bus("b")
		atB := collect(b, "x")
		var lost []string
		b.OnLoss(func(from string) { lost = append(lost, from) })
		changed := b.Changed()
		n.Isolate("a")
		_ = a.Publish("x", []byte("lost"))
		check(t, "nodes before the silence", b.Nodes(), []string{"a", "b", "c"})
		time.Sleep(4 * time.Second)
		check(t, "nodes after it", b.Nodes(), []string{"b", "c"})
		check(t, "nodes of the isolated one", a.Nodes(), []string{"a"})
		select {
		case <-changed:
		default:
			t.Error("Changed was not closed")
		}
		n.Heal()
		_ = a.Publish("x", []byte("back"))
		check(t, "nodes after healing", b.Nodes(), []string{"a", "b", "c"})
		synctest.Wait()
		check(t, "messages", *atB, []string{"a:back"})
		check(t, "losses", lost, []string{"a"})
	})
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(t, "a", "b")
		b := n.Bus("b")
		before := b.Incarnation("a")
		n.Kill("a")
		check(t, "after a kill", b.Nodes(), []string{"b"})
		n.Start("a")
		check(t, "after a start", b.Nodes(), []string{"a", "b"})
		if b.Incarnation("a") == before || before == 0 {
			t.Errorf("incarnations %d and %d, want different ones", before, b.Incarnation("a"))
		}
	})
}

func TestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(t, "a", "b")
		n.SetSilence(3 * time.Second)
		n.SetDelay(10 * time.Millisecond)
		a, b := n.Bus("a"), n.Bus("b")
		b.Handle("echo", func(_ context.Context, from string, data []byte) ([]byte, error) {
			if len(data) == 0 {
				return nil, errors.New("nothing to say")
			}
			return append([]byte(from), data...), nil
		})
		began := time.Now()
		got, err := a.Request(t.Context(), "b", "echo", []byte("!"))
		if string(got) != "a!" || err != nil || time.Since(began) != 20*time.Millisecond {
			t.Errorf("Request = %q, %v after %v", got, err, time.Since(began))
		}
		if _, err := a.Request(t.Context(), "b", "echo", nil); err == nil || err.Error() != "node b: nothing to say" {
			t.Errorf("error of the handler: %v", err)
		}
		if _, err := a.Request(t.Context(), "b", "other", nil); !errors.Is(err, cluster.ErrNoHandler) {
			t.Errorf("no handler: %v", err)
		}
		if _, err := a.Request(t.Context(), "c", "echo", nil); !errors.Is(err, cluster.ErrGone) {
			t.Errorf("no node: %v", err)
		}
		n.Cut("a", "b")
		began = time.Now()
		if _, err := a.Request(t.Context(), "b", "echo", []byte("!")); !errors.Is(err, cluster.ErrGone) || time.Since(began) != 3*time.Second {
			t.Errorf("cut off: %v after %v", err, time.Since(began))
		}
	})
}

func TestLose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(t, "a", "b")
		a, b := n.Bus("a"), n.Bus("b")
		losses := 0
		b.OnLoss(func(string) { losses++ })
		got := collect(b, "x")
		n.Lose(func(_, _, subject string) bool { return subject == "x" })
		_ = a.Publish("x", []byte("1"))
		n.Lose(nil)
		_ = a.Publish("x", []byte("2"))
		synctest.Wait()
		check(t, "messages", *got, []string{"a:2"})
		if losses != 1 {
			t.Errorf("%d losses, want 1", losses)
		}
	})
}
