package app_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lazaret.dev/lazaret/app"
	"lazaret.dev/lazaret/app/apptest"
	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/views"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == dashboardMode {
		os.Exit(runDashboard(os.Args[2:]))
	}
	time.Local = time.UTC // pictures show local times
	os.Exit(m.Run())
}

// requestID is the id of the nth request of a test.
func requestID(n int) domain.RequestID {
	return domain.RequestID(fmt.Sprintf("%032x", n+1))
}

// pending makes a request that has waited for two minutes.
func pending(n int, argv ...string) escalate.Pending {
	now := time.Now().Unix()
	return escalate.Pending{
		Request: escalate.Request{
			ID: requestID(n), Session: apptest.SessionID(0), Argv: argv, Dir: ".",
			Why: "publish the branch so that CI can run",
		},
		Digest: []byte{byte(n)}, Profile: "shell", Program: "/usr/bin/" + argv[0],
		HostDir: apptest.Workspace, HostUser: "dev",
		ReceivedUnix: now - 120, ExpiresUnix: now + 480,
		Warnings: []string{"This command runs project code: .git/hooks can be written by the sandbox."},
	}
}

func domainStatus() wire.Status {
	id, _ := domain.Identify("shell", apptest.Workspace)
	return wire.Status{
		Domain: id, Generation: "0123456789abcdef", Profile: "shell", Workspace: apptest.Workspace,
		Mode: "subordinate ids", StartedUnix: time.Now().Unix(), NetworkUp: false, NetworkReason: "slirp4netns ended with status 1",
		Sessions: []wire.SessionStatus{
			{Session: apptest.SessionID(0), Argv: []string{"bash", "-l"}, TTY: true},
			{Session: apptest.SessionID(15), Argv: []string{"make", "watch"}, TTY: true},
		},
		Policy: []string{"deny 10.0.0.0/8", "deny 172.16.0.0/12", "deny 192.168.0.0/16", "deny 169.254.0.0/16", "allow 10.0.2.3/32 (name server)", "IPv6 off"},
		Limits: []string{"processes: 4096, held by pids.max", "memory: none in force, no delegated cgroup"},
		Lower:  "sha256:3f5c1d", Log: "/home/dev/.local/share/lazaret/domains/646eb596abfb/coordinator.log",
		Anchors: []string{"/usr", "/etc", "/opt", "/var", "/root", "/home"}, CoordinatorID: 4711,
	}
}

// changed is a look at n changes, some with names that no terminal should get.
func changed(n, waiting int) views.Changes {
	at := time.Date(2026, 11, 30, 14, 2, 0, 0, time.UTC)
	items := []views.Change{
		{Path: ".github/workflows/\x1b[2Jci\u202e.yml", What: "changed", Mark: views.ChangeRuns, At: at},
		{Path: "Makefile", From: "Makefile.in", What: "renamed", Mark: views.ChangeScript, At: at.Add(-time.Minute)},
	}
	for i := len(items); i < n; i++ {
		items = append(items, views.Change{Path: fmt.Sprintf("src/part%d", i), Directory: i == 2, What: "created", At: at.Add(-time.Duration(i) * time.Hour)})
	}
	return views.Changes{Items: items, Waiting: waiting, Forgotten: uint64(n / 100)}
}

const prompt = "\x1b[1;32mdev@sandbox\x1b[0m:\x1b[1;34m/workspace\x1b[0m# "

// scenes are the pictures that are held golden, each reached the way a developer
// would.
var scenes = map[string]func(d *apptest.Driver){
	"shell": func(d *apptest.Driver) {
		d.Session(0).Print(prompt + "ls\r\nREADME.md  \x1b[34mdocs\x1b[0m  日本語.txt  🚀.md\r\n" + prompt)
	},
	"splits": func(d *apptest.Driver) {
		d.Session(0).Print(prompt + "htop")
		d.Leader("|")
		d.Session(1).Print(prompt + "git status\r\nOn branch main\r\n")
		d.Leader("-")
		d.Session(2).Print("\x1b]2;vim notes\x07~\r\n~\r\n")
		d.Session(0).Say(client.Pending{Pending: pending(0, "git", "push")})
	},
	"which-key": func(d *apptest.Driver) {
		d.Type("\x07")
		d.Wait(300 * time.Millisecond)
	},
	"new-session": func(d *apptest.Driver) {
		d.Leader("n")
		d.Keys("\x1b[B", "make test")
	},
	"fleet": func(d *apptest.Driver) {
		d.Session(0).Say(domainStatus())
		d.Leader("|")
		d.Session(1).Exit(3)
		d.Session(0).Say(client.Pending{Pending: pending(0, "git", "push")})
		d.Leader("s")
	},
	"status": func(d *apptest.Driver) {
		d.Session(0).Say(domainStatus())
		d.Leader("d")
	},
	"status-changed": func(d *apptest.Driver) {
		d.Session(0).Say(domainStatus())
		d.Changes.Set(changed(3, 2))
		d.Leader("d")
	},
	"changes": func(d *apptest.Driver) {
		d.Session(0).Say(domainStatus())
		d.Changes.Set(changed(3, 0))
		d.Leader("d")
		d.Keys("c", "j")
	},
	"changes-long": func(d *apptest.Driver) {
		d.Session(0).Say(domainStatus())
		d.Changes.Set(changed(200, 0))
		d.Leader("d")
		d.Keys("c", "\x1b[6~")
	},
	"inbox": func(d *apptest.Driver) {
		d.Session(0).Say(client.Pending{Pending: pending(0, "git", "push", "origin", "feature/long branch")})
		d.Session(0).Say(client.Pending{Pending: pending(1, "adb", "shell", "am start -n com.example/.Main")})
		d.Leader("i")
	},
	"card-written": func(d *apptest.Driver) {
		p := pending(0, "make", "-C", "tools", "release")
		p.Warnings = []string{
			"runs project code: make executes what files of the project say (build files, hooks, configuration)",
			"written by the sandbox: tools/Makefile (14:02), Makefile (13:58), package.json (2026-11-28 09:15)",
			"the sandbox wrote 12 other files below the working directory that tools run or build from",
		}
		d.Session(0).Say(client.Pending{Pending: p})
		d.Leader("r")
		d.Wait(time.Second)
	},
	"card-waiting": func(d *apptest.Driver) {
		d.Session(0).Say(client.Pending{Pending: pending(0, "git", "push", "origin", "a b\u202etxt.exe")})
		d.Leader("r")
	},
	"card": func(d *apptest.Driver) {
		d.Session(0).Say(client.Pending{Pending: pending(0, "git", "push", "origin", "feature")})
		d.Leader("r")
		d.Wait(time.Second)
	},
	"card-deny": func(d *apptest.Driver) {
		d.Session(0).Say(client.Pending{Pending: pending(0, "git", "push", "origin", "feature")})
		d.Leader("r")
		d.Wait(time.Second)
		d.Keys("d", "not on a Friday")
	},
	"card-edit": func(d *apptest.Driver) {
		d.Session(0).Say(client.Pending{Pending: pending(0, "git", "push", "--force", "origin", "feature")})
		d.Leader("r")
		d.Wait(time.Second)
		d.Keys("e", "j", "j", "\r", "\x15", "--force-with-lease", "\r", "j", "j", "o", "tag")
	},
	"card-long": func(d *apptest.Driver) {
		argv := []string{"echo"}
		for i := range 40 {
			argv = append(argv, fmt.Sprintf("word-%d", i))
		}
		d.Session(0).Say(client.Pending{Pending: pending(0, argv...)})
		d.Leader("r")
		d.Wait(time.Second)
	},
	"help": func(d *apptest.Driver) { d.Leader("?") },
	"messages": func(d *apptest.Driver) {
		d.Session(0).Say(client.Notice{Level: wire.LevelWarning, Text: "the host has no delegated cgroup; memory is not limited"})
		d.Session(0).Say(client.Notice{Level: wire.LevelError, Text: "slirp4netns ended; the sandbox has no network"})
		d.Leader("m")
	},
	"confirm-close": func(d *apptest.Driver) { d.Leader("x") },
	"exited": func(d *apptest.Driver) {
		d.Session(0).Print(prompt + "exit 3\r\nlogout\r\n")
		d.Session(0).Exit(3)
		d.Wait(time.Second)
	},
	"copy-mode": func(d *apptest.Driver) {
		for i := range 60 {
			d.Session(0).Print(fmt.Sprintf("line %d of the log\r\n", i))
		}
		d.Settle()
		d.Leader("[")
		d.Keys("\x1b[5~", "v", "k", "k")
	},
	"empty": func(d *apptest.Driver) {
		d.Session(0).Exit(0)
		d.Wait(time.Second)
		d.Type("x")
		d.Wait(10 * time.Second)
	},
}

func TestGoldenPictures(t *testing.T) {
	t.Parallel()
	for name, scene := range scenes {
		for _, size := range [][2]int{{80, 24}, {120, 36}} {
			id := fmt.Sprintf("%s-%dx%d", name, size[0], size[1])
			t.Run(id, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d := apptest.Start(t, size[0], size[1])
					scene(d)
					d.Settle()
					apptest.Golden(t, id, d.Screen.Last())
				})
			})
		}
	}
}

func TestGoldenOpening(t *testing.T) {
	t.Parallel()
	steps := []string{"resolving image", "preparing lower", "starting the coordinator", "starting the sandbox"}
	for name, result := range map[string]error{
		"opening": nil,
		"failed": &fault.Error{
			Kind: fault.Host, Message: "user namespaces are restricted by AppArmor on this host",
			Fix: "install the profile that lazaret doctor prints, then try again",
		},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 36}} {
			id := fmt.Sprintf("%s-%dx%d", name, size[0], size[1])
			t.Run(id, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					d := apptest.Start(t, size[0], size[1], func(o *app.Options) {
						s := o.Sessions.(*apptest.Sessions)
						s.Steps = steps
						s.Gate = func(ctx context.Context, _ app.OpenRequest) error {
							if result != nil {
								return result
							}
							<-ctx.Done()
							return ctx.Err()
						}
					})
					d.Wait(time.Second)
					apptest.Golden(t, id, d.Screen.Last())
				})
			})
		}
	}
}

// Drawing changes nothing: drawn twice, a view looks the same twice.
func TestDrawnTwiceIsTheSame(t *testing.T) {
	t.Parallel()
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := apptest.Start(t, 100, 30)
				scene(d)
				d.Settle()
				first, second := d.Model.Frame(), d.Model.Frame()
				if !slices.Equal(first.Cells, second.Cells) || first.Cursor != second.Cursor {
					t.Error("the second picture differs from the first")
				}
			})
		})
	}
}

// Every scene must hold on any screen, however small, and come back.
func TestAnySizeDraws(t *testing.T) {
	t.Parallel()
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := apptest.Start(t, 80, 24)
				scene(d)
				d.Settle()
				before := d.Screen.Last().String()
				for _, size := range [][2]int{{1, 1}, {2, 1}, {1, 30}, {24, 5}, {30, 6}, {40, 10}, {300, 100}, {0, 0}, {80, 24}} {
					d.Send(app.SizeMsg{W: size[0], H: size[1]})
					d.Settle()
				}
				if name == "copy-mode" || name == "card-long" || name == "changes-long" {
					return // their position was moved by the small screens
				}
				// A minute boundary may have passed meanwhile.
				before = strings.ReplaceAll(before, "in 8 min", "in 7 min")
				if after := d.Screen.Last().String(); after != before {
					t.Errorf("after shrinking and growing:\n%s\nbefore:\n%s", after, before)
				}
			})
		})
	}
}

var errGone = errors.New("read coordinator: connection reset by peer")
