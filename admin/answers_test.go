package admin

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lateAnswer answers each request as a healthy daemon does, after a time.
type lateAnswer time.Duration

func (l lateAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(time.Duration(l)):
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(healthy))}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// A daemon on a busy machine is waited for, because a command changes the store of its
// own settings if none runs. Another program that never answers must not hold it up for long.
func TestLateDaemonAnswers(t *testing.T) {
	for late, want := range map[time.Duration]bool{0: true, 5 * time.Second: true, answerTime - 1: true, answerTime + 1: false} {
		synctest.Test(t, func(t *testing.T) {
			c, err := newClient("127.0.0.1:8081", "")
			if err != nil {
				t.Fatal(err)
			}
			c.http = &http.Client{Transport: lateAnswer(late)}
			if got := c.answers(t.Context()); got != want {
				t.Errorf("a daemon that answers after %v: answers() = %v, want %v", late, got, want)
			}
		})
	}
}
