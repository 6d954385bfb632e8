package postgres

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSilenceIsLimited(t *testing.T) {
	_, address := throughProxy(t, emptyDatabase(t))
	e := openAt(t, address, testOptions())
	conn, err := e.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	raw, err := conn.Conn().PgConn().Conn().(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
		if err != nil || got != int(silence.Milliseconds()) {
			t.Errorf("TCP_USER_TIMEOUT = %d, %v", got, err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
