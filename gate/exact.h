/* exp, log and log1p whose result is a function of the argument alone: only additions,
 * multiplications and divisions of doubles, in a fixed order and without contraction,
 * so that every machine and C library gives the same bits. A stored gate is replayed on
 * other machines. Errors are below 1 ulp (tested against long double). */
#ifndef WF_GATE_EXACT_H
#define WF_GATE_EXACT_H

double wf_exact_exp(double x);
double wf_exact_log(double x); /* x > 0; else NAN, -INFINITY at 0 */
double wf_exact_log1p(double x);
double wf_exact_sqrt(double x); /* IEEE 754 requires it exact: the machine's */

#endif
