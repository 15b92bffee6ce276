# What the lab is made of, for lab/build/build. Sourced with `here` set; sets `kubernetes` (its version) and
# `programs`, a line for each: program | module folder | package | tags | linker flags

kubernetes=$(sed -nE 's/^(require )?[[:space:]]*k8s.io\/kubernetes v([0-9.]+).*/\2/p' "$here/kubernetes/go.mod")
component=k8s.io/component-base/version
version_flags="-X $component.gitVersion=v$kubernetes -X $component.gitMajor=${kubernetes%%.*}"
version_flags+=" -X $component.gitMinor=$(cut -d. -f2 <<<"$kubernetes") -X $component.gitTreeState=clean"
helm_version=$(sed -nE 's/.*helm.sh\/helm\/v3 (v[0-9.]+).*/\1/p' "$here/helm/go.mod")
kwok_version=$(sed -nE 's/.*sigs.k8s.io\/kwok (v[0-9.]+).*/\1/p' "$here/kwok/go.mod")
containerd_version=$(sed -nE 's/.*containerd\/containerd\/v2 (v[0-9.]+).*/\1/p' "$here/containerd/go.mod")

programs="\
etcd|etcd|.||
kube-apiserver|kubernetes|k8s.io/kubernetes/cmd/kube-apiserver||$version_flags
kube-controller-manager|kubernetes|k8s.io/kubernetes/cmd/kube-controller-manager||$version_flags
kube-scheduler|kubernetes|k8s.io/kubernetes/cmd/kube-scheduler||$version_flags
kubelet|kubernetes|k8s.io/kubernetes/cmd/kubelet||$version_flags
kubectl|kubernetes|k8s.io/kubernetes/cmd/kubectl||$version_flags
containerd|containerd|github.com/containerd/containerd/v2/cmd/containerd|no_btrfs,no_zfs,no_devmapper|-X github.com/containerd/containerd/v2/version.Version=$containerd_version
containerd-shim-runc-v2|containerd|github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2|no_btrfs,no_zfs,no_devmapper|
ctr|containerd|github.com/containerd/containerd/v2/cmd/ctr|no_btrfs,no_zfs,no_devmapper|
kwok|kwok|sigs.k8s.io/kwok/cmd/kwok||-X sigs.k8s.io/kwok/pkg/consts.Version=$kwok_version
helm|helm|helm.sh/helm/v3/cmd/helm||-X helm.sh/helm/v3/internal/version.version=$helm_version"
