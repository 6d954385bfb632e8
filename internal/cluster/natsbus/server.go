package natsbus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

// slack is the overhead of a payload: our header and that of NATS.
const slack = 4096

// startServer starts the embedded server and connects it to the peers.
func startServer(ctx context.Context, o *Options, incarnation uint64, payload int) (*server.Server, error) {
	host, port, err := splitListen(o.Listen)
	if err != nil {
		return nil, err
	}
	if err := probeListen(ctx, o.Listen); err != nil {
		return nil, fmt.Errorf("cluster.listen: %w", err)
	}
	s, err := server.NewServer(&server.Options{
		// Two incarnations of a node must not look like one server to NATS.
		ServerName: o.Node + "-" + strconv.FormatUint(incarnation, 36),
		DontListen: true, NoSigs: true, NoSystemAccount: true,
		MaxPayload: int32(payload), WriteDeadline: 5 * time.Second,
		Cluster: server.ClusterOpts{
			Name: o.Name, Host: host, Port: port, TLSConfig: o.TLS, TLSTimeout: 5,
			// One connection per pair keeps the order; its pings notice a cut long
			// before TCP does.
			PoolSize: -1, PingInterval: 2 * time.Second, MaxPingsOut: 2, WriteDeadline: 5 * time.Second,
		},
		Routes: o.routes(),
	})
	if err != nil {
		return nil, err
	}
	s.SetLoggerV2(newServerLog(o.Log), o.Log.GetLevel() <= zerolog.DebugLevel, false, false)
	s.Start()
	// Without a port for clients the server would wait for that port for ever before it
	// connects to others. This call takes the part of the goroutine that waits.
	ready := make(chan struct{})
	close(ready)
	s.StartRouting(ready)
	if !s.ReadyForConnections(5 * time.Second) {
		s.Shutdown()
		return nil, errors.New("cluster.listen: the messages between nodes did not start")
	}
	return s, nil
}

func splitListen(listen string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("cluster.listen: %w", err)
	}
	if port, err = strconv.Atoi(text); err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("cluster.listen: bad port %q", text)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	if host == "" {
		host = "0.0.0.0"
	}
	return host, port, nil
}

// probeListen opens and closes the address: its error is better than the server's,
// which comes after seconds.
func probeListen(ctx context.Context, listen string) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	return ln.Close()
}

// quiet is how long the same kind of error is not logged again as a warning.
const quiet = 10 * time.Minute

// serverLog writes the log of the server at level debug, and each kind of error once
// in a while as a warning.
type serverLog struct {
	log zerolog.Logger

	mu   sync.Mutex           // guards seen
	seen map[string]time.Time // by format: texts of the program, so there are few
}

func newServerLog(log zerolog.Logger) *serverLog {
	return &serverLog{log: log.With().Str("part", "nats").Logger(), seen: make(map[string]time.Time)}
}

func (l *serverLog) debug(format string, v []any) { l.log.Debug().Msg(fmt.Sprintf(format, v...)) }

func (l *serverLog) once(format string, v []any) {
	l.mu.Lock()
	last, seen := l.seen[format]
	again := seen && time.Since(last) < quiet
	if !again {
		l.seen[format] = time.Now()
	}
	l.mu.Unlock()
	if again {
		l.debug(format, v)
		return
	}
	l.log.Warn().Str("error", fmt.Sprintf(format, v...)).Msg("messages between nodes")
}

// Noticef implements server.Logger.
func (l *serverLog) Noticef(format string, v ...any) { l.debug(format, v) }

// Warnf implements server.Logger.
func (l *serverLog) Warnf(format string, v ...any) { l.debug(format, v) }

// Debugf implements server.Logger.
func (l *serverLog) Debugf(format string, v ...any) { l.debug(format, v) }

// Tracef implements server.Logger.
func (l *serverLog) Tracef(format string, v ...any) { l.debug(format, v) }

// Errorf implements server.Logger.
func (l *serverLog) Errorf(format string, v ...any) { l.once(format, v) }

// Fatalf implements server.Logger.
func (l *serverLog) Fatalf(format string, v ...any) { l.once(format, v) }
