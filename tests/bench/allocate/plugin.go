package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const startTimeout = 30 * time.Second

// plugin is a device plugin that runs in a mount namespace of its own, where kubelet's folder is
// one of its own, and the connection to it, which stays open with the device list as kubelet's does.
type plugin struct {
	api.UnimplementedRegistrationServer
	process    *exec.Cmd
	server     *grpc.Server
	log        *os.File
	registered chan *api.RegisterRequest
	conn       *grpc.ClientConn
	client     api.DevicePluginClient
	ids        []string
	next       int
}

// startPlugin starts a plugin in dir and waits for its registration and its first list. The plugin
// sees dir/k/device-plugins as /var/lib/kubelet/device-plugins.
func startPlugin(ctx context.Context, dir, command string) (*plugin, error) {
	p := &plugin{registered: make(chan *api.RegisterRequest, 16)}
	sockets := filepath.Join(dir, "k", "device-plugins")
	for _, folder := range []string{sockets, filepath.Join(dir, "k", "pod-resources"), filepath.Join(dir, "s")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	if err := p.listen(filepath.Join(sockets, "kubelet.sock")); err != nil {
		return nil, err
	}
	if err := p.spawn(dir, sockets, command); err != nil {
		p.close()
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.connect(ctx, sockets); err != nil {
		log, _ := os.ReadFile(p.log.Name())
		p.close()
		return nil, fmt.Errorf("%w; its log ends: %s", err, tail(log))
	}
	return p, nil
}

func tail(log []byte) string {
	if len(log) > 1000 {
		log = log[len(log)-1000:]
	}
	return string(log)
}

func (p *plugin) listen(socket string) error {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	p.server = grpc.NewServer()
	api.RegisterRegistrationServer(p.server, p)
	go func() { _ = p.server.Serve(listener) }()
	return nil
}

// Register is kubelet's side of a registration.
func (p *plugin) Register(_ context.Context, r *api.RegisterRequest) (*api.Empty, error) {
	select {
	case p.registered <- r:
	default: // nobody waits for a further one
	}
	return &api.Empty{}, nil
}

func (p *plugin) spawn(dir, sockets, command string) (err error) {
	if p.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return err
	}
	const folder = "/var/lib/kubelet/device-plugins"
	inner := fmt.Sprintf("mkdir -p %[1]s && mount --bind %[2]s %[1]s && exec %[3]s", folder, sockets,
		strings.ReplaceAll(command, "{dir}", dir))
	p.process = exec.Command("unshare", "-m", "sh", "-c", inner)
	p.process.Stdout, p.process.Stderr = p.log, p.log
	p.process.Env = append(os.Environ(), "TRANCHE_SIM_STATE="+filepath.Join(dir, "sim"))
	p.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return p.process.Start()
}

// connect dials the registered socket with kubelet's options, and reads the device list for as long
// as the connection lives.
func (p *plugin) connect(ctx context.Context, sockets string) error {
	var request *api.RegisterRequest
	select {
	case request = <-p.registered:
	case <-ctx.Done():
		return errors.New("it did not register in time")
	}
	var err error
	p.conn, err = grpc.NewClient("passthrough:///"+filepath.Join(sockets, request.Endpoint),
		grpc.WithAuthority("localhost"),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", address)
		}))
	if err != nil {
		return err
	}
	p.client = api.NewDevicePluginClient(p.conn)
	return p.follow(ctx)
}

func (p *plugin) follow(ctx context.Context) error {
	stream, err := p.client.ListAndWatch(context.Background(), &api.Empty{})
	if err != nil {
		return err
	}
	lists := make(chan []string, 1)
	go func() {
		for {
			list, err := stream.Recv()
			if err != nil {
				return
			}
			var ids []string
			for _, device := range list.Devices {
				ids = append(ids, device.ID)
			}
			select {
			case lists <- ids:
			default: // only the first is waited for
			}
		}
	}()
	select {
	case p.ids = <-lists:
	case <-ctx.Done():
	}
	if len(p.ids) == 0 {
		return errors.New("it offers no device")
	}
	return nil
}

// block makes calls one after the other, each for the next id, and returns how long each took.
func (p *plugin) block(ctx context.Context, calls int, pause time.Duration) ([]time.Duration, error) {
	times := make([]time.Duration, 0, calls)
	for range calls {
		time.Sleep(pause)
		id := p.ids[p.next%len(p.ids)]
		p.next++
		request := &api.AllocateRequest{
			ContainerRequests: []*api.ContainerAllocateRequest{{DevicesIds: []string{id}}}}
		begin := time.Now()
		if _, err := p.client.Allocate(ctx, request); err != nil {
			return nil, err
		}
		times = append(times, time.Since(begin))
	}
	return times, nil
}

func (p *plugin) close() {
	if p.conn != nil {
		_ = p.conn.Close()
	}
	if p.process != nil && p.process.Process != nil {
		_ = p.process.Process.Signal(syscall.SIGTERM)
		_ = p.process.Wait()
	}
	p.server.Stop()
	if p.log != nil {
		_ = p.log.Close()
	}
}
