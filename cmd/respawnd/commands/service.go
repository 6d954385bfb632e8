package commands

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/configs"
	"github.com/respawnd/respawnd/daemon"
	"github.com/respawnd/respawnd/daemon/services"
	"github.com/respawnd/respawnd/internal/wake"
)

const (
	windowsService = "respawnd"
	// serviceLog is the file in the data folder that the service writes its log to.
	serviceLog = "service.log"
	// serviceWait is how long the service may take to start or to stop, and servicePoll the time
	// between two looks at it.
	serviceWait = time.Minute
	servicePoll = 200 * time.Millisecond
)

// A serviceState is what the service does, as Windows sees it.
type serviceState int

const (
	serviceStopped serviceState = iota
	serviceStarting
	serviceRunning
	serviceStopping
)

// A serviceRequest is what Windows wants of the service.
type serviceRequest int

const (
	stopService serviceRequest = iota
	reloadService
)

// A serviceManager is what the commands need of the one of Windows.
type serviceManager interface {
	// Install makes a service that starts with the system and runs the program with args, and
	// runs the commands, which give its account access to files. After an error there is none.
	Install(ctx context.Context, program string, args []string, commands [][]string) error
	Remove(ctx context.Context) error
	Start() error
	Stop() error
	State() (serviceState, error)
	// Run is called in the service's own process: it runs f until f ends. f reports states and
	// gets requests.
	Run(f func(report func(serviceState), requests <-chan serviceRequest) error) error
	Close() error
}

// serviceCommand returns the commands for the service of Windows. manager connects to what keeps it.
func serviceCommand(con *cli.Console, manager func() (serviceManager, error)) *cobra.Command {
	leaf := func(use, short string, f func(context.Context, serviceManager) error) *cobra.Command {
		return cli.Leaf(use, short, cobra.NoArgs, func(ctx context.Context, _ []string) (err error) {
			m, err := manager()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, m.Close()) }()
			return f(ctx, m)
		})
	}
	firewall := false
	install := leaf("install", "Install the daemon as a service that starts with Windows", func(ctx context.Context, m serviceManager) error {
		return installService(ctx, con, m, firewall)
	})
	install.Flags().BoolVar(&firewall, "firewall", false, "also let the firewall of Windows pass what is sent to the program")
	install.Long = install.Short + `.

The service has an account of its own, and the settings of this command: --config and
--data-dir become whole paths. Variables (RESPAWND_...) do not reach it. The data
folder is closed to all but the service and administrators; commands about it
need an administrator's terminal and the same --config and --data-dir.`
	remove := leaf("remove", "Stop and remove the service; its data stays", func(ctx context.Context, m serviceManager) error {
		if err := stopAndWait(ctx, m); err != nil {
			return err
		}
		return con.Confirm(m.Remove(ctx), "removed the service; its data and settings are where they were")
	})
	start := leaf("start", "Start the service and wait until the daemon is ready", func(ctx context.Context, m serviceManager) error {
		if err := m.Start(); err != nil {
			return err
		}
		return con.Confirm(waitForService(ctx, m, serviceRunning), "the daemon is ready")
	})
	stop := leaf("stop", "Stop the service and wait until the daemon has ended", func(ctx context.Context, m serviceManager) error {
		return con.Confirm(stopAndWait(ctx, m), "the daemon has stopped")
	})
	run := leaf("run", "Run the daemon for Windows' service manager, which alone may use this", func(ctx context.Context, m serviceManager) error {
		return runService(ctx, con, m)
	})
	run.Hidden = true
	return cli.Group("service", "Run the daemon as a service of Windows", install, remove, start, stop, run)
}

func installService(ctx context.Context, con *cli.Console, m serviceManager, firewall bool) error {
	cfg, _, err := con.Load()
	if err != nil {
		return con.ListMistakes(err)
	}
	for _, v := range con.Env {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, configs.EnvPrefix) {
			return fmt.Errorf("%s does not reach a service: write it into a configuration and give --config", name)
		}
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args, commands, err := planService(con, cfg, program, firewall)
	if err != nil {
		return err
	}
	if err := m.Install(ctx, program, args, commands); err != nil {
		return err
	}
	return con.Say("installed the service; start it now with: respawnd service start\nits command line: %s", strings.Join(args, " "))
}

// planService makes the data folder. It returns the command line of the service, and the commands
// that give its account access: to the data, which is closed to others, the program and the
// configuration, which may be in the folder of a user.
func planService(con *cli.Console, cfg *services.Config, program string, firewall bool) (args []string, commands [][]string, err error) {
	const account = `NT SERVICE\` + windowsService
	data, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, nil, fmt.Errorf("data_dir: %w", err)
	}
	args = []string{"service", "run", "--data-dir", data}
	const administrators, system, inherited = "*S-1-5-32-544", "*S-1-5-18", ":(OI)(CI)"
	commands = [][]string{
		{"icacls", data, "/inheritance:r", "/grant:r", administrators + inherited + "F", system + inherited + "F", account + inherited + "M"},
		{"icacls", program, "/grant", account + ":RX"},
	}
	if con.Config != "" {
		file, err := filepath.Abs(con.Config)
		if err != nil {
			return nil, nil, err
		}
		args = append(args, "--config", file)
		commands = append(commands, []string{"icacls", file, "/grant", account + ":R"})
	}
	for key, value := range con.Flags {
		if key != "data_dir" {
			args = append(args, "--"+strings.NewReplacer(".", "-", "_", "-").Replace(key)+"="+value)
		}
	}
	slices.Sort(args[slices.Index(args, data)+1+2*min(1, len(con.Config)):])
	if firewall {
		commands = append(commands, []string{
			"netsh", "advfirewall", "firewall", "add", "rule", "name=" + windowsService, "dir=in", "action=allow", "program=" + program, "enable=yes",
		})
	}
	return args, commands, nil
}

// stopAndWait stops the service if it runs.
func stopAndWait(ctx context.Context, m serviceManager) error {
	if state, err := m.State(); err != nil || state == serviceStopped {
		return err
	}
	if err := m.Stop(); err != nil {
		return err
	}
	return waitForService(ctx, m, serviceStopped)
}

// waitForService waits until the service is in a state.
func waitForService(ctx context.Context, m serviceManager, want serviceState) error {
	ctx, cancel := context.WithTimeout(ctx, serviceWait)
	defer cancel()
	tick := time.NewTicker(servicePoll)
	defer tick.Stop()
	for {
		switch state, err := m.State(); {
		case err != nil || state == want:
			return err
		case state == serviceStopped:
			return fmt.Errorf("the service stopped again: its data folder has the reason, in %s", serviceLog)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the service takes longer than %v: its data folder says why, in %s", serviceWait, serviceLog)
		}
	}
}

// runService is the process of the service: it runs the daemon, with its log in the data folder,
// until Windows stops it.
func runService(ctx context.Context, con *cli.Console, m serviceManager) error {
	// Windows sends every process what Go takes for SIGTERM when a user signs out.
	ctx = context.WithoutCancel(ctx)
	return m.Run(func(report func(serviceState), requests <-chan serviceRequest) (err error) {
		log, err := openLog(filepath.Join(con.Flags["data_dir"], serviceLog))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, log.Close()) }()
		con.Err = log
		return serveRequests(ctx, report, requests, func(ctx context.Context, notify daemon.Notify, reload <-chan os.Signal) error {
			return serveFor(ctx, con, notify, reload)
		})
	})
}

// serveRequests runs a daemon, reports its states, and does what is requested until it ends.
func serveRequests(ctx context.Context, report func(serviceState), requests <-chan serviceRequest,
	run func(context.Context, daemon.Notify, <-chan os.Signal) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	report(serviceStarting)
	reload, ready, ended := make(chan os.Signal, 1), make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- run(ctx, func(state, _ string) error {
			if state == daemon.NotifyReady {
				wake.Up(ready)
			}
			return nil
		}, reload)
	}()
	for {
		select {
		case err := <-ended:
			return err
		case <-ready:
			if ctx.Err() == nil {
				report(serviceRunning)
			}
		case r := <-requests:
			if r == stopService {
				report(serviceStopping)
				cancel()
				continue
			}
			select {
			case reload <- os.Interrupt:
			default: // one that waits will do
			}
		}
	}
}
