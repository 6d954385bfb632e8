package commands

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"
)

// windowsManager is the service manager of this machine.
type windowsManager struct {
	m *mgr.Mgr // nil in the process of the service
}

// openServices connects to the service manager, which only administrators may. In the process of the
// service there is nothing to connect to.
func openServices() (serviceManager, error) {
	if inService, err := svc.IsWindowsService(); err != nil || inService {
		return windowsManager{}, err
	}
	m, err := mgr.Connect()
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		err = errors.New("this needs an administrator's terminal")
	}
	return windowsManager{m}, err
}

func (w windowsManager) Close() error {
	if w.m == nil {
		return nil
	}
	return w.m.Disconnect()
}

func (w windowsManager) Install(ctx context.Context, program string, args []string, commands [][]string) (err error) {
	if w.m == nil {
		return errors.New("this is the service itself")
	}
	s, err := w.m.CreateService(windowsService, program, mgr.Config{
		DisplayName: "respawnd", Description: "Multiplayer services for games of the GameSpy era.", StartType: mgr.StartAutomatic, DelayedAutoStart: true,
		ServiceStartName: `NT AUTHORITY\LocalService`, SidType: windows.SERVICE_SID_TYPE_UNRESTRICTED,
	}, args...)
	if errors.Is(err, windows.ERROR_SERVICE_EXISTS) {
		return errors.New("the service is installed already: respawnd service remove")
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Delete())
		}
		err = errors.Join(err, s.Close())
	}()
	again := func(d time.Duration) mgr.RecoveryAction {
		return mgr.RecoveryAction{Type: mgr.ServiceRestart, Delay: d}
	}
	err = s.SetRecoveryActions([]mgr.RecoveryAction{again(5 * time.Second), again(30 * time.Second), again(time.Minute)}, 24*60*60)
	if err == nil {
		err = s.SetRecoveryActionsOnNonCrashFailures(true)
	}
	for _, c := range commands {
		if err == nil {
			err = execute(ctx, c...)
		}
	}
	return err
}

func execute(ctx context.Context, command ...string) error {
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
	}
	return nil
}

func (w windowsManager) Remove(ctx context.Context) error {
	err := w.with((*mgr.Service).Delete)
	if err == nil { // without a rule it fails, which is fine
		_ = execute(ctx, "netsh", "advfirewall", "firewall", "delete", "rule", "name="+windowsService)
	}
	return err
}

func (w windowsManager) Start() error {
	return w.with(func(s *mgr.Service) error { return s.Start() })
}

func (w windowsManager) Stop() error {
	return w.with(func(s *mgr.Service) error {
		_, err := s.Control(svc.Stop)
		return err
	})
}

func (w windowsManager) State() (state serviceState, err error) {
	err = w.with(func(s *mgr.Service) error {
		status, err := s.Query()
		switch status.State {
		case svc.Running:
			state = serviceRunning
		case svc.StartPending:
			state = serviceStarting
		case svc.StopPending:
			state = serviceStopping
		}
		return err
	})
	return state, err
}

// with runs f on the service.
func (w windowsManager) with(f func(*mgr.Service) error) error {
	if w.m == nil {
		return errors.New("this is the service itself")
	}
	s, err := w.m.OpenService(windowsService)
	if errors.Is(err, windows.ERROR_SERVICE_DOES_NOT_EXIST) {
		return errors.New("the service is not installed: respawnd service install")
	}
	if err != nil {
		return err
	}
	return errors.Join(f(s), s.Close())
}

func (w windowsManager) Run(f func(func(serviceState), <-chan serviceRequest) error) error {
	if w.m != nil {
		return errors.New("only Windows' service manager runs this: respawnd service start")
	}
	h := &handler{run: f}
	return errors.Join(svc.Run(windowsService, h), h.err)
}

// handler is what Windows calls in the process of the service.
type handler struct {
	run func(func(serviceState), <-chan serviceRequest) error
	err error
}

// Execute is svc.Handler.
func (h *handler) Execute(_ []string, changes <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	const hint = uint32(serviceWait / time.Millisecond)
	requests := make(chan serviceRequest)
	go func() { // ends with the process
		for c := range changes {
			switch c.Cmd {
			case svc.ParamChange:
				requests <- reloadService
			case svc.Stop, svc.Shutdown:
				requests <- stopService
			}
		}
	}()
	h.err = h.run(func(s serviceState) {
		switch s {
		case serviceStarting:
			status <- svc.Status{State: svc.StartPending, WaitHint: hint}
		case serviceRunning:
			status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown | svc.AcceptParamChange}
		case serviceStopping:
			status <- svc.Status{State: svc.StopPending, WaitHint: hint}
		}
	}, requests)
	if h.err != nil {
		return true, ExitFailure
	}
	return false, 0
}
