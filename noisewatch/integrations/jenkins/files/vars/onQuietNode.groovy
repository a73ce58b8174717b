// A step of a shared library: runs its body on a quiet node with this label, or fails the build.
//     onQuietNode('benchmark') { sh './benchmark' }
//     onQuietNode('benchmark', nodes: 3, options: '--cpus 2-7') { … }
// `nodes`: how many nodes to try; at most the number of nodes with the label, as Jenkins waits forever for another one.
def call(Map settings = [:], String label, Closure body) {
    int nodes = settings.nodes ?: 1
    String gate = settings.gate ?: '/etc/noisewatch/jenkins/noisewatch-gate'
    String wanted = '(' + label + ')'
    for (int tried = 0; tried < nodes; tried++) {
        boolean isQuiet = false
        node(wanted) {
            int status = sh(returnStatus: true, label: 'noisewatch', script: gate + ' ' + (settings.options ?: ''))
            if (![0, 1, 3, 4].contains(status)) {
                error('noisewatch failed with status ' + status + ' on ' + env.NODE_NAME)
            }
            isQuiet = status == 0
            if (isQuiet) {
                body()
            } else {
                echo('noisewatch: ' + env.NODE_NAME + ' is not known to be quiet')
                wanted += ' && !"' + env.NODE_NAME + '"' // Jenkins would prefer the same node again
            }
        }
        if (isQuiet) {
            return
        }
    }
    error('noisewatch: no quiet node for ' + wanted)
}
