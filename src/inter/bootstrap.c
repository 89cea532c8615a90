// SPDX-License-Identifier: BSD-3-Clause
/**
 * Which bootstrap: the program's own, a launcher's PMIx, or none.
 */
#include <core/error.h>
#include <inter/bootstrap.h>
#include <stdlib.h>

/* The value of a variable that holds a number, `otherwise` when it does not. */
static long number(const char *name, long otherwise) {
    const char *text = getenv(name);
    char *end;
    long value = text ? strtol(text, &end, 10) : 0;
    return text && end != text && !*end ? value : otherwise;
}

/*
 * The name of a launcher that has started this process as one of several, without PMIx; NULL if there is none.
 *
 * Slurm sets SLURM_NTASKS for a whole allocation, also in the shell of salloc and sbatch, and SLURM_PROCID=0 in a batch
 * script; a program started there without srun is alone. What tells a task of srun is the size of its step, or a rank above 0.
 */
static const char *other_launcher(void) {
    if (number("PMI_SIZE", 1) > 1)
        return "mpiexec of MPICH (PMI_SIZE)";
    if (number("OMPI_COMM_WORLD_SIZE", 1) > 1)
        return "mpirun of Open MPI (OMPI_COMM_WORLD_SIZE)";
    bool task = getenv("SLURM_PROCID") != NULL;
    if (task &&
        (number("SLURM_STEP_NUM_TASKS", 1) > 1 || (number("SLURM_NTASKS", 1) > 1 && number("SLURM_PROCID", 0) > 0)))
        return "srun (SLURM_STEP_NUM_TASKS, SLURM_PROCID)";
    return NULL;
}

int inter_bootstrap_open(const core_config *config, const weft_bootstrap *user, inter_bootstrap **bootstrap) {
    if (user)
        return inter_bootstrap_callback(user, bootstrap);
    if (config->bootstrap == CORE_BOOTSTRAP_PMIX)
        return inter_bootstrap_pmix(bootstrap);
    if (config->bootstrap == CORE_BOOTSTRAP_SINGLE)
        return inter_bootstrap_single(bootstrap);
    if (inter_bootstrap_pmix_present())
        return inter_bootstrap_pmix(bootstrap);
    const char *launcher = other_launcher();
    if (launcher)
        return core_error(
            WEFT_ERR_BOOTSTRAP,
            "%s started this process as one of several, but offers no PMIx, so they cannot find each other: use "
            "weftrun -n N, mpirun of Open MPI, or srun --mpi=pmix; WEFT_BOOTSTRAP=single makes each a job of its own",
            launcher);
    return inter_bootstrap_single(bootstrap);
}
